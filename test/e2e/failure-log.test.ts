import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { toFailedOutcome } from '../../src/jobs/provider-failure.ts';
import { logFailure } from '../../src/kit/write-answer.ts';
import { toJobError } from '../../src/operations/jobs/job-answer.ts';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { clientKinds } from '../mcp/clients.ts';
import { leaveNote } from '../operations/leave-note.ts';
import { responsesJob } from '../operations/responses/responses-job.ts';
import { startTestGateway } from './start-test-gateway.ts';
import { startUpstreamGateway, type UpstreamGateway } from './start-upstream-gateway.ts';

const warnLevel = 40;
/** No chain and no facilitator is asked, whose own lines would be between. */
const environment = { X402_NETWORKS: 'none' };
const { log, lines } = createRecordedLog();

/** The lines that tell of failures at the default level. */
const told = (): Record<string, unknown>[] =>
  (lines as Record<string, unknown>[]).filter(({ level }) => Number(level) >= warnLevel);

const failed = {
  level: warnLevel,
  jobId: expect.any(String),
  sku: 'textmodel-3.5-flash',
  provider: 'up',
  model: 'upstream-name',
  failure: 'retry_same',
  code: 'upstream_unavailable',
  reason: expect.stringContaining('503'),
  attempts: 3,
};

describe('a call that its upstream fails', () => {
  let served: UpstreamGateway;
  beforeEach(async () => {
    served = await startUpstreamGateway(environment, '', log);
    served.upstream.setDefault({ kind: 'error', status: 503 });
    lines.length = 0;
  });
  afterEach(() => served.stop());

  it.each([
    ['chat', '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello' }] }],
    ['chat', '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello' }], stream: true }],
    ['responses', '/v1/responses', { input: 'Hello', model: 'textmodel-3.5-flash' }],
  ])('is one line for a %s: what failed, where, how often, for which request', async (kind, path, body) => {
    const answer = await served.gateway.call(path, { apiKey: served.apiKey, body });
    expect(answer.status).toBe(503);
    const requestId = answer.headers.get('x-request-id');
    expect(told()).toMatchObject([{ ...failed, requestId, msg: `a job failed upstream: ${kind}` }]);
    expect(JSON.stringify(told())).not.toMatch(/"(?:err|stack)"/);
  });

  it('is one line over MCP too', async () => {
    const [kind] = clientKinds;
    const client = await kind!.connect(`${served.gateway.url}/mcp`, served.apiKey);
    const input = { messages: [{ role: 'user', content: 'Hello' }] };
    await client.callTool('create_chat_completion', input);
    await client.close();
    expect(told()).toMatchObject([{ ...failed, requestId: expect.stringMatching(/^req_/) }]);
  });

  it('is one line when a later attempt answers', async () => {
    served.upstream.setDefault({ kind: 'chat', pieces: ['Hello'] });
    served.upstream.script({ kind: 'error', status: 503 });
    expect((await served.ask()).status).toBe(200);
    expect(told()).toMatchObject([
      {
        provider: 'up',
        attempts: 1,
        failure: 'retry_same',
        msg: 'an upstream call failed, and a later attempt answered',
      },
    ]);
  });
});

it('an image that its provider fails is one line with the request that asked for it', async () => {
  const gateway = await startTestGateway({ environment, log });
  onTestFinished(() => gateway.stop());
  lines.length = 0;
  const body = { model: 'imagemodel-1.0', prompt: '[sandbox:fail]' };
  const answer = await gateway.call('/v1/images/generations', { body });
  const requestId = answer.headers.get('x-request-id');
  expect(told()).toMatchObject([
    { level: warnLevel, requestId, provider: 'sandbox', msg: 'a job failed upstream: image' },
  ]);
});

describe('a fault of the gateway', () => {
  it('is no failed outcome, so that the runner of the job logs it with its stack', () => {
    lines.length = 0;
    const fault = new TypeError('a bug');
    expect(() => toFailedOutcome(fault, { log, job: responsesJob })).toThrow(fault);
    expect(told()).toEqual([]);
  });

  it('is not logged again where the failed job is answered', () => {
    lines.length = 0;
    const error = toJobError({ ...responsesJob, status: 'failed' }, {});
    expect(error.status).toBe(500);
    logFailure(log, error, { what: 'a call', facts: {} });
    expect(told()).toEqual([]);
  });

  it('is logged at debug when its client has gone, and the gateway serves on', async () => {
    const [began, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const handle = async (): Promise<never> => {
      began.resolve();
      await gone.promise;
      throw new TypeError('a bug');
    };
    const operations = [{ ...leaveNote, sale: { kind: 'free' as const, handle } }];
    const gateway = await startTestGateway({ environment, log, operations });
    onTestFinished(() => gateway.stop());
    lines.length = 0;
    const leaving = new AbortController();
    const asked = fetch(`${gateway.url}/v1/boards/hall/notes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.apiKey}` },
      body: JSON.stringify({ text: 'Back at five' }),
      signal: leaving.signal,
    });
    await began.promise;
    leaving.abort();
    await expect(asked).rejects.toThrow(/abort/);
    await expect.poll(() => JSON.stringify(lines)).toContain('isCutOff');
    gone.resolve();
    const fault = { level: 20, msg: 'a call failed', err: expect.objectContaining({ message: 'a bug' }) };
    await expect.poll(() => lines).toContainEqual(expect.objectContaining(fault));
    expect((await gateway.call('/health/live')).status).toBe(200);
  });
});
