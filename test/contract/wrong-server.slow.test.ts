import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runContract, type CheckResult, type ContractOptions } from '../../scripts/contract/run-contract.ts';
import { startTestGateway, whenSearchReady, type TestGateway } from '../e2e/start-test-gateway.ts';
import { startWrongServer, type PassedAnswer, type Spoil } from './wrong-server.ts';

let gateway: TestGateway;
let options: ContractOptions;

beforeAll(async () => {
  gateway = await startTestGateway({
    environment: {
      ALLOW_LOOPBACK_URLS: 'true',
      REQUESTS_PER_MINUTE: '100000',
      SEARCH_RATE_PER_MINUTE: '100000',
    },
  });
  await whenSearchReady(gateway);
  options = {
    baseUrl: gateway.url,
    apiKey: gateway.apiKey,
    otherKey: null,
    poorKey: null,
    sandbox: true,
    video: true,
    deadlineSeconds: null,
    rateLimit: false,
    only: null,
    allowSpendUsd: '10.00',
    webhook: { host: '127.0.0.1', port: 0, publicUrl: null },
    checksAtOnce: 4,
    requestsPerSecond: 1000,
    callTimeoutMs: 60_000,
    checkTimeoutMs: 150_000,
    runTimeoutMs: 300_000,
    jobTimeoutMs: 120_000,
  };
});

afterAll(() => gateway.stop());

type Json = Record<string, unknown>;

type Change = (answer: PassedAnswer) => PassedAnswer;

/** Spoils the JSON answers of addresses that match. */
const json =
  (path: RegExp, change: (body: Json) => Json): Change =>
  (answer) => {
    if (!path.test(answer.path) || !(answer.headers['content-type'] ?? '').includes('json')) return answer;
    const body = JSON.parse(answer.body.toString('utf8')) as Json;
    return { ...answer, body: Buffer.from(JSON.stringify(change(body))) };
  };

const text =
  (path: RegExp, from: string | RegExp, to: string): Change =>
  (answer) =>
    path.test(answer.path)
      ? { ...answer, body: Buffer.from(answer.body.toString('utf8').replace(from, to)) }
      : answer;

const status =
  (from: number, to: number): Change =>
  (answer) => ({ ...answer, status: answer.status === from ? to : answer.status });

const withoutHeader =
  (name: string): Change =>
  (answer) => {
    const { [name]: _dropped, ...headers } = answer.headers;
    return { ...answer, headers };
  };

const items = (body: Json): Json[] => (Array.isArray(body['data']) ? (body['data'] as Json[]) : []);
let reads = 0;

const spoils: [what: string, spoil: Spoil, ids: string[]][] = [
  ['another status for a missing key', status(401, 403), ['KEY-1', 'KEY-2', 'KEY-5']],
  [
    'a second member beside error',
    json(/^\/v1\//, (body) => (body['error'] === undefined ? body : { ...body, request_id: 'r' })),
    ['ERR-1', 'KEY-1', 'JOB-8'],
  ],
  ['no request ids', withoutHeader('x-request-id'), ['ERR-5']],
  ['no Allow', withoutHeader('allow'), ['ERR-2']],
  [
    'a balance that is a number',
    json(/balance$/, (body) => ({ ...body, balance_usd: Number(body['balance_usd']) })),
    ['BAL-1'],
  ],
  [
    'a new secret at every read',
    json(/balance$/, (body) => ({ ...body, webhook_secret: `whsec_${(reads += 1)}` })),
    ['BAL-2', 'HOOK-2', 'HOOK-3'],
  ],
  [
    'a price in another unit',
    json(/models$/, (body) => ({
      ...body,
      data: items(body).map((item) => ({
        ...item,
        pricing: { ...(item['pricing'] as Json), unit: 'month' },
      })),
    })),
    ['MOD-1', 'MOD-2'],
  ],
  [
    'prompts in the history',
    json(/^\/v1\/jobs(\?|$)/, (body) => ({
      ...body,
      data: items(body).map((item) => ({ ...item, prompt: 'x' })),
    })),
    ['HIST-1'],
  ],
  [
    'lists with the oldest first',
    json(/^\/v1\/(jobs|transactions)(\?|$)/, (body) =>
      body['data'] === undefined ? body : { ...body, data: items(body).toReversed() },
    ),
    ['HIST-3', 'TXN-3'],
  ],
  ['debits without a sign', text(/^\/v1\/transactions/, /"-0\./g, '"0.'), ['TXN-5']],
  [
    'custom_data with a member more',
    json(/^\/v1\/(jobs|images)\b/, (body) =>
      body['custom_data'] === undefined
        ? body
        : { ...body, custom_data: { ...(body['custom_data'] as Json), extra: 1 } },
    ),
    ['IMG-9'],
  ],
  ['200 for what was queued', status(202, 200), ['IMG-2', 'VID-1']],
  [
    'another code for another format',
    text(/images/, 'unsupported_response_format', 'invalid_parameter'),
    ['IMG-7'],
  ],
  ['replays that are not told', withoutHeader('idempotent-replayed'), ['IDEM-1', 'IDEM-8', 'IDEM-10']],
  ['conflicts that invite a retry', withoutHeader('x-should-retry'), ['IDEM-2', 'IDEM-3']],
  [
    'a wrong total',
    json(/chat/, (body) => ({
      ...body,
      ...(body['usage'] === undefined ? {} : { usage: { ...(body['usage'] as Json), total_tokens: 1 } }),
    })),
    ['CHAT-2', 'JOB-7'],
  ],
  [
    'a charge that is too high by a nano-dollar',
    text(/^\/v1\/jobs\//, /"cost_usd":"(\d+\.\d+)"/, '"cost_usd":"$11"'),
    ['CHAT-3'],
  ],
  ['422 without detail', json(/chat/, ({ detail: _detail, ...body }) => body), ['CHAT-6', 'CHAT-8']],
  ['a stream without [DONE]', text(/chat/, 'data: [DONE]\n\n', ''), ['STRM-1']],
  ['a stream without usage', text(/chat/, /"choices":\[\],"usage":\{/, '"choices":[],"used":{'), ['STRM-3']],
  ['events out of number', text(/responses/, /"sequence_number":2\b/g, '"sequence_number":7'), ['RSP-13']],
  ['responses without their id', withoutHeader('x-response-id'), ['RSP-2', 'RSP-13', 'RSP-16']],
  ['422 for unsupported fields', status(400, 422), ['RSP-6', 'RSP-7', 'RSP-8', 'MOD-3']],
  [
    'a price that differs from the terms',
    json(/search/, (body) =>
      body['x402'] === undefined ? body : { ...body, x402: { ...(body['x402'] as Json), amount: '0.11' } },
    ),
    ['SRCH-3', 'SRCH-4'],
  ],
  ['payment asked for before the parameters are looked at', status(422, 402), ['SRCH-5', 'SRCH-6']],
  ['no terms', withoutHeader('payment-required'), ['SRCH-3']],
  ['another version of the description', text(/openapi/, '"0.1.0.2"', '"9.9.9"'), ['DOC-1']],
  ['another tool for everybody', text(/mcp/, '"name":"search_leads"', '"name":"search"'), ['MCP-1']],
  [
    'content kept a day longer, and ranges answered as if whole',
    (answer) =>
      status(
        206,
        200,
      )(
        json(/videos\/[^/]+$/, (body) =>
          typeof body['expires_at'] === 'string'
            ? { ...body, expires_at: new Date(Date.parse(body['expires_at']) + 86_400_000).toISOString() }
            : body,
        )(answer),
      ),
    ['VID-2', 'VID-5'],
  ],
];

const runAgainst = async (spoil: Spoil, more: Partial<ContractOptions>): Promise<CheckResult[]> => {
  const server = await startWrongServer(gateway.url, spoil);
  try {
    return (await runContract({ ...options, ...more, baseUrl: server.url })).results;
  } finally {
    await server.stop();
  }
};

describe.concurrent('the contract suite', () => {
  it('finds nothing wrong while nothing is', async () => {
    const only = [...new Set(spoils.flatMap(([, , ids]) => ids))];
    const results = await runAgainst((answer) => answer, { only });
    expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
  });

  it.each(spoils)('finds %s', async (_what, spoil, only) => {
    const results = await runAgainst(spoil, { only });
    expect(results.map(({ id, outcome }) => [id, outcome])).toEqual(
      expect.arrayContaining(only.map((id) => [id, 'failed'])),
    );
    for (const { reason } of results) expect(reason).toBeTruthy();
  });

  it.each([
    ['200 and an empty object', 200, '{}', ['KEY-4', 'MOD-1', 'MOD-2']],
    ['500 and nothing', 500, '', ['KEY-4', 'MOD-1', 'MOD-2']],
  ] as const)('has no check that a server passes which only knows %s', async (_what, code, body, passed) => {
    const results = await runAgainst(
      (answer) =>
        answer.path === '/v1/models'
          ? answer
          : {
              ...answer,
              status: code,
              headers: { 'content-type': 'application/json' },
              body: Buffer.from(body),
            },
      { jobTimeoutMs: 100, checksAtOnce: 16, otherKey: options.apiKey, poorKey: options.apiKey },
    );
    const found = results.filter(({ outcome }) => outcome === 'passed').map(({ id }) => id);
    expect(found).toEqual(passed);
    expect(results.filter(({ outcome }) => outcome === 'failed').length).toBeGreaterThan(150);
  });

  it('skips the services that a server does not have, and says why', async () => {
    const absent = /^\/(?:mcp|v1\/(?:videos|search))(?:[/?]|$)/;
    const withoutVideos = json(/models$/, (body) =>
      body['data'] === undefined
        ? body
        : { ...body, data: items(body).filter(({ kind }) => kind !== 'video') },
    );
    const results = await runAgainst(
      (answer) =>
        absent.test(answer.path)
          ? {
              ...answer,
              status: 404,
              body: Buffer.from(
                '{"error":{"type":"invalid_request_error","code":"not_found","message":"Nothing is here."}}',
              ),
            }
          : withoutVideos(answer),
      {
        only: ['KEY-1', 'KEY-5', 'MOD-3', 'IDEM-6', 'ERR-3', 'VID-1', 'VID-16', 'VID-21', 'SRCH-1', 'MCP-1'],
      },
    );
    expect(results.map(({ id, outcome, reason }) => [id, outcome, reason])).toEqual([
      ...['KEY-1', 'KEY-5', 'MOD-3', 'IDEM-6'].map((id) => [id, 'passed', null]),
      ['VID-1', 'skipped', 'the account has no video SKU'],
      ['VID-16', 'skipped', 'the server has no /v1/videos: it answers 404'],
      ['VID-21', 'skipped', 'the server has no /v1/videos: it answers 404'],
      ['ERR-3', 'passed', null],
      ['SRCH-1', 'skipped', 'the server has no /v1/search: it answers 404'],
      ['MCP-1', 'skipped', 'the server has no /mcp: it answers 404'],
    ]);
  });

  it('finds an answer that never comes, when its time is over', async () => {
    const silent: Spoil = (answer) =>
      answer.path.startsWith('/v1/usage') ? new Promise<PassedAnswer>(() => {}) : answer;
    const results = await runAgainst(silent, { only: ['USE-1', 'MOD-1'], callTimeoutMs: 4_000 });
    expect(results).toMatchObject([
      { id: 'MOD-1', outcome: 'passed' },
      { id: 'USE-1', outcome: 'failed', reason: expect.stringMatching(/^GET \/v1\/usage: no answer/) },
    ]);
  });

  it('fails what it had no time to look at', async () => {
    const results = await runAgainst((answer) => answer, { only: ['MOD-1', 'BAL-1'], runTimeoutMs: 0 });
    expect(results.map(({ outcome, reason }) => [outcome, reason])).toEqual(
      results.map(() => ['failed', 'not checked: the time limit of the run is over']),
    );
    expect(results).toHaveLength(2);
  });

  it('finds an account that sees what is not its own', async () => {
    const only = ['HIST-8', 'JOB-9', 'RSP-19'];
    // The same account under the name of another: nothing is hidden from it.
    const results = await runAgainst((answer) => answer, { otherKey: options.apiKey, only });
    expect(results.map(({ outcome }) => outcome)).toEqual(only.map(() => 'failed'));
  });
});

describe.concurrent('the command', () => {
  const command = fileURLToPath(new URL('../../scripts/contract.ts', import.meta.url));
  const run = (url: string, ...more: string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
    new Promise((resolve) => {
      execFile(
        process.execPath,
        ['--', command, '--base-url', url, '--key', gateway.apiKey, '--only', 'BAL-1,MOD-1,HIST-8', ...more],
        (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      );
    });

  it('ends with 0 when no rule is broken, and names what it skipped', async () => {
    const { code, stdout } = await run(gateway.url, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ passed: 2, failed: 0, skipped: 1 });
  });

  it('ends with 1 when a rule is broken, and says what was seen', async () => {
    const server = await startWrongServer(
      gateway.url,
      json(/balance$/, (body) => ({ ...body, currency: 'EUR' })),
    );
    const { code, stdout } = await run(server.url);
    await server.stop();
    expect(code).toBe(1);
    expect(stdout).toMatch(/✗ BAL-1 .*\n.*currency: is "EUR", not "USD"/);
    expect(stdout).toContain('1 passed, 1 failed, 1 skipped');
    expect(stdout).not.toContain(gateway.apiKey);
  });

  it('ends with 2 when it cannot begin', async () => {
    const { code, stderr } = await run('http://127.0.0.1:9');
    expect(code).toBe(2);
    expect(stderr).toMatch(/^GET \/v1\/models: no answer/);
  });
});
