import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { leaseMs } from '../../src/jobs/job-queue.ts';
import { createJobRunner } from '../../src/jobs/job-runner.ts';
import { silentLog } from '../../src/kit/log.ts';
import { parseUsd } from '../../src/kit/money.ts';
import type { Job } from '../../src/store/store.ts';
import { openAccount } from '../mcp/open-account.ts';
import { responseAsker, startResponses, balanceOf, model, overMcp } from './response-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

let gateway: TestGateway;
let openai: OpenAI;

beforeAll(async () => {
  ({ gateway, openai } = await startResponses());
});

afterAll(() => gateway.stop());

const ask = responseAsker(() => gateway);

const openHolds = async (): Promise<number> => (await gateway.services.store.checkLedger()).openHolds;

/** Of the first account. */
const readJob = async (id: string): Promise<Job> => {
  const [account] = await gateway.services.store.listAccounts({ limit: 1 });
  const job = await gateway.services.store.getJob({ id, accountId: account?.id ?? '' });
  if (job === null) throw new Error('the job is not there');
  return job;
};

describe('a response that nobody waits for', () => {
  it('goes on without the reader of its stream, and can be read', async () => {
    const leaving = new AbortController();
    const answer = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, input: '[sandbox:slow=0.3] a long story', stream: true }),
      signal: leaving.signal,
    });
    const id = answer.headers.get('x-response-id') ?? '';
    leaving.abort();
    await answer.text().catch(() => undefined);
    const { response } = (await overMcp(gateway, 'get_job', { job_id: id, wait_ms: 20_000 })) as {
      response: object;
    };
    expect(response).toMatchObject({ id, status: 'completed' });
    expect(await openai.responses.retrieve(id)).toMatchObject({ status: 'completed' });
  });

  it('is made to its end as JSON too, and charged', async () => {
    const leaving = new AbortController();
    const key = 'left-alone';
    const gone = fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify({ model, input: '[sandbox:slow=4] a long story' }),
      signal: leaving.signal,
    });
    await expect.poll(openHolds).toBe(1);
    leaving.abort();
    await expect(gone).rejects.toThrow('aborted');
    const body = { input: '[sandbox:slow=4] a long story' };
    const again = await ask(body, { headers: { 'idempotency-key': key } });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.json()).toMatchObject({ status: 'completed' });
    const job = await readJob(again.headers.get('x-response-id')?.slice(5) ?? '');
    expect(job).toMatchObject({ holdState: 'captured' });
    expect(job.charged).toBeGreaterThan(0n);
  });
});

describe('the prompt of a text job', () => {
  const secret = 'sphinx';
  const slow = `[sandbox:slow=4] ${secret}`;

  /** Begins a stream, and hands over its answer and its job as it lies in the store while it runs. */
  const begin = async (path: string, body: object): Promise<{ answer: Response; stored: Job }> => {
    const answer = await gateway.call(path, { body: { model, stream: true, ...body } });
    const { headers } = answer;
    const publicId = headers.get('x-response-id') ?? headers.get('x-chat-completion-id') ?? '';
    const stored = await readJob(publicId.replace(/^[a-z]+[_-]/, ''));
    expect(stored.status).toBe('running');
    return { answer, stored };
  };

  it('does not lie in the store while the job runs', async () => {
    const image = { url: `data:image/png;base64,${onePixel}` };
    const content = [
      { type: 'text', text: slow },
      { type: 'image_url', image_url: image },
    ];
    const chat = await begin('/v1/chat/completions', { messages: [{ role: 'user', content }] });
    expect(chat.stored).toMatchObject({ request: '', parameters: null });
    expect(await chat.answer.text()).toContain(secret);

    const response = await begin('/v1/responses', { input: slow, instructions: 'Be brief.' });
    expect(JSON.stringify(response.stored, withoutBigints)).not.toContain(secret);
    // What a response shows again while it runs.
    const id = response.answer.headers.get('x-response-id') ?? '';
    expect(await openai.responses.retrieve(id)).toMatchObject({
      status: 'in_progress',
      instructions: 'Be brief.',
    });
    expect(await response.answer.text()).toContain(secret);
    expect(await readJob(id.slice(5))).toMatchObject({ status: 'done', request: '' });
  });
});

const withoutBigints = (_name: string, value: unknown): unknown =>
  typeof value === 'bigint' ? String(value) : value;

describe('a response whose process died', () => {
  it('is shown in progress until its lease has run out, then as failed, uncharged', async () => {
    const { store, clock } = gateway.services;
    const { accountId, apiKey, keyId } = await openAccount(gateway.services);
    const shown = { instructions: 'Be brief.', metadata: { order: '7' }, max_output_tokens: 50 };
    const id = crypto.randomUUID();
    const now = clock.now();
    const opened = await store.openJob({
      job: {
        id,
        accountId,
        keyId,
        kind: 'responses',
        model,
        status: 'running',
        leaseOwner: 'a process that was killed',
        leaseUntil: now + leaseMs,
        maxAttempts: 1,
        deadlineAt: now + 300_000,
        request: JSON.stringify({ shown }),
        customData: null,
        parameters: JSON.stringify({ metadata: shown.metadata, max_output_tokens: 50 }),
        webhookUrl: null,
        usageTag: null,
        isBudgeted: false,
      },
      hold: parseUsd('1'),
      idempotency: null,
      activeLimit: null,
      inputs: [],
      now,
    });
    expect(opened.outcome).toBe('opened');
    const read = async (): Promise<Record<string, unknown>> =>
      (await (await gateway.call(`/v1/responses/resp_${id}`, { apiKey })).json()) as Record<string, unknown>;
    expect(await read()).toMatchObject({ status: 'in_progress', ...shown, output: [], error: null });
    // Another process, for which the lease has run out.
    const other = createJobRunner({
      store,
      clock: { now: () => clock.now() + 2 * leaseMs },
      log: silentLog,
      executors: {},
      concurrency: {},
      settleMs: 0,
    });
    other.begin();
    await expect.poll(async () => (await read())['status'], { timeout: 60_000 }).toBe('failed');
    await other.drain(0);
    expect(await read()).toMatchObject({
      id: `resp_${id}`,
      error: { code: 'server_error' },
      output: [],
      metadata: { order: '7' },
      max_output_tokens: 50,
    });
    expect(await store.getJob({ id, accountId })).toMatchObject({
      charged: 0n,
      holdState: 'released',
      request: '',
    });
    expect(await store.getAccount(accountId)).toMatchObject({ balance: parseUsd('10'), held: 0n });
  });
});

describe('a failure', () => {
  it.each([
    ['[sandbox:fail]', 502, 'upstream_error', 'server_error'],
    ['[sandbox:moderated]', 400, 'content_policy_violation', 'invalid_prompt'],
    ['[sandbox:rate_limit]', 429, 'rate_limit_exceeded', 'rate_limit_exceeded'],
  ])(
    'by %s is a %i %s, not charged, and can be read as a failed response',
    async (input, status, code, readCode) => {
      const before = await balanceOf(gateway);
      for (const stream of [false, true]) {
        const answer = await ask({ input, stream, instructions: 'Do.', metadata: { a: 'b' } });
        expect(answer.status).toBe(status);
        expect(await answer.json()).toMatchObject({ error: { code } });
        const read = await gateway.call(`/v1/responses/${answer.headers.get('x-response-id')}`);
        expect(read.status).toBe(200);
        expect(await read.json()).toMatchObject({
          status: 'failed',
          error: { code: readCode, message: expect.any(String) },
          output: [],
          usage: null,
          instructions: 'Do.',
          metadata: { a: 'b' },
        });
      }
      expect(await balanceOf(gateway)).toBe(before);
    },
  );
});

describe('limits', () => {
  it('of time answer 408 with the id, by which the response is read once it is there', async () => {
    const hurried = await startTestGateway({ environment: { CHAT_DEADLINE_MS: '50' } });
    try {
      const client = new OpenAI({ baseURL: `${hurried.url}/v1`, apiKey: hurried.apiKey, maxRetries: 2 });
      const late: unknown = await client.responses
        .create({ model, input: '[sandbox:slow=6] x', instructions: 'Wait' })
        .catch((error: unknown) => error);
      if (!(late instanceof OpenAI.APIError)) throw new Error('it was not refused');
      expect(late).toMatchObject({ status: 408, code: 'request_timeout' });
      expect(late.headers?.get('x-should-retry')).toBe('false');
      const id = late.headers?.get('x-response-id') ?? '';
      expect(late.message).toContain(id);
      expect(await client.responses.retrieve(id)).toMatchObject({
        id,
        status: 'in_progress',
        instructions: 'Wait',
        output: [],
      });
      const [account] = await hurried.services.store.listAccounts({ limit: 1 });
      const job = await hurried.services.store.getJob({ id: id.slice(5), accountId: account?.id ?? '' });
      if (job === null) throw new Error('the job is not there');
      const { signal } = new AbortController();
      await hurried.services.jobs.wait({ job, timeoutMs: 60_000, signal });
      expect(await client.responses.retrieve(id)).toMatchObject({ id, status: 'completed' });
      const slow = { model, input: '[sandbox:slow=2] x' };
      expect(await overMcp(hurried, 'create_response', slow)).toMatchObject({
        error: { code: 'request_timeout', message: expect.stringMatching(/get_response/) },
      });
    } finally {
      await hurried.stop();
    }
  });

  it('of size and of money are kept', async () => {
    const small = await startTestGateway({ environment: { RESPONSES_MAX_BYTES: '2000' } });
    try {
      const post = async (body: object, apiKey = small.apiKey): Promise<[number, unknown]> => {
        const answer = await small.call('/v1/responses', { body: { model, ...body }, apiKey });
        return [answer.status, await answer.json()];
      };
      const tooLarge = [400, { error: { code: 'input_too_large', param: 'input' } }];
      expect(await post({ input: 'x'.repeat(2_000) })).toMatchObject(tooLarge);
      const [, made] = (await post({ input: 'Hi' })) as [number, OpenAI.Responses.Response];
      const reference = { type: 'item_reference', id: made.output[0]?.id };
      expect(await post({ input: Array.from({ length: 20 }, () => reference) })).toMatchObject(tooLarge);

      const poor = await openAccount(small.services, { amount: parseUsd('0.002') });
      expect(await post({ input: 'Hi', max_output_tokens: 65_536 }, poor.apiKey)).toMatchObject([
        402,
        { error: { code: 'insufficient_balance' } },
      ]);
      const headers = { 'idempotency-key': 'the last cents' };
      const last = () =>
        small.call('/v1/responses', { body: { model, input: 'Hi' }, apiKey: poor.apiKey, headers });
      const answer = await last();
      expect(answer.status).toBe(200);
      const lowered: unknown = await answer.json();
      expect((lowered as OpenAI.Responses.Response).max_output_tokens).toBeLessThan(400);
      // What was paid for is answered again when no money is left.
      const spent = await small.services.store.getAccount(poor.accountId);
      const spend = { id: crypto.randomUUID(), accountId: poor.accountId, type: 'adjustment' as const };
      await small.services.store.postEntry({
        ...spend,
        amount: -(spent?.balance ?? 0n),
        note: 'test',
        now: Date.now(),
      });
      expect((await post({ input: 'Hi' }, poor.apiKey))[0]).toBe(402);
      expect(await (await last()).json()).toEqual(lowered);
      expect(await small.services.store.checkLedger()).toMatchObject({ problems: [], openHolds: 0 });
    } finally {
      await small.stop();
    }
  });
});

describe('the terms of an account', () => {
  it('hold for a response: its unit of price, and which models there are', async () => {
    const { store } = gateway.services;
    const { accountId, apiKey } = await openAccount(gateway.services);
    const under = async (terms: object): Promise<Response> => {
      await store.setAccountTerms({ id: accountId, terms: JSON.stringify(terms) });
      return ask({ input: 'Hi' }, { apiKey });
    };
    expect((await under({ prices: { [model]: { unit: 'call', price_usd: '0.25' } } })).status).toBe(200);
    expect(await store.getAccount(accountId)).toMatchObject({ balance: parseUsd('9.75'), held: 0n });
    const refused = await under({ models: ['textmodel-3.1-pro'] });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { code: 'model_not_found', param: 'model' } },
    ]);
  });
});
