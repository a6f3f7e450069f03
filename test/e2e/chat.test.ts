import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseUsd } from '../../src/kit/money.ts';
import { connectAssistant } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
});

afterAll(() => gateway.stop());

const ask = (content: string, more: object = {}, headers: Record<string, string> = {}) =>
  gateway.call('/v1/chat/completions', {
    body: { messages: [{ role: 'user', content }], max_tokens: 400, ...more },
    headers,
  });

const balance = async (): Promise<bigint> => {
  const body = (await (await gateway.call('/v1/balance')).json()) as { balance_usd: string };
  return parseUsd(body.balance_usd);
};

const events = (text: string): string[] =>
  text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice('data: '.length));

describe('a chat completion', () => {
  it('charges exactly what its usage costs at the rates of the SKU', async () => {
    const before = await balance();
    const completion = (await (await ask('Hello there')).json()) as {
      usage: { prompt_tokens: number; completion_tokens: number };
    };
    const { prompt_tokens: input, completion_tokens: output } = completion.usage;
    const exact = BigInt(input) * 1050n + BigInt(output) * 6300n;
    expect(before - (await balance())).toBe(exact);
  });

  it('echoes conversation_id in body and header, and says that the sandbox answered', async () => {
    const response = await ask('Hi', { conversation_id: 'c-1' });
    expect(response.headers.get('x-conversation-id')).toBe('c-1');
    expect(response.headers.get('x-causeway-sandbox')).toBe('true');
    expect(await response.json()).toMatchObject({ conversation_id: 'c-1', metadata: { sandbox: true } });
  });

  it('can be read as a job by the id of its completion', async () => {
    const completion = (await (await ask('Remember me')).json()) as { id: string };
    const job = (await (await gateway.call(`/v1/jobs/${completion.id}`)).json()) as Record<string, unknown>;
    expect(job).toMatchObject({ status: 'done', error: null, data: [], response: completion });
  });

  it('streams role, pieces, finish reason, usage and [DONE], in that order', async () => {
    const response = await ask('Stream please', { stream: true });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const datas = events(await response.text());
    expect(datas.at(-1)).toBe('[DONE]');
    const chunks = datas.slice(0, -1).map((data) => JSON.parse(data));
    expect(chunks[0].choices[0].delta.role).toBe('assistant');
    expect(chunks.at(-2).choices[0].finish_reason).toBe('stop');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: expect.any(Number) } });
    expect(response.headers.get('x-chat-completion-id')).toBe(chunks[0].id);
  });

  it('fails without a charge when the upstream fails, and releases its hold', async () => {
    const before = await balance();
    for (const stream of [false, true]) {
      const response = await ask('[sandbox:fail]', { stream });
      expect(response.status).toBe(502);
      expect(await response.json()).toMatchObject({
        error: { type: 'server_error', code: 'upstream_error' },
      });
    }
    expect(await balance()).toBe(before);
  });

  it('answers a moderated refusal as a content policy violation', async () => {
    const response = await ask('[sandbox:moderated]');
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'content_policy_violation' } });
  });

  it('ends at the output limit with finish_reason length', async () => {
    const completion = (await (await ask('Talk for long', { max_tokens: 5 })).json()) as {
      choices: { finish_reason: string }[];
      usage: { completion_tokens: number };
    };
    expect(completion.choices[0]?.finish_reason).toBe('length');
    expect(completion.usage.completion_tokens).toBeLessThanOrEqual(5);
  });

  it.each(['textmodel-3.5-flash', 'textmodel-3.1-flash-lite', 'textmodel-3.1-pro', 'textmodel-3.7-flash'])(
    'answers under the name %s that was asked for',
    async (model) => {
      const response = await ask('Hi', { model });
      const completion = (await response.json()) as { id: string };
      expect(completion).toMatchObject({ object: 'chat.completion', model });
      expect(response.headers.get('x-chat-completion-id')).toBe(completion.id);
    },
  );

  it('is of textmodel-3.5-flash when no model was named', async () => {
    expect(await (await ask('Hi')).json()).toMatchObject({ model: 'textmodel-3.5-flash' });
  });

  it('takes no image from this machine', async () => {
    for (const url of [`${gateway.url}/a.png`, 'https://127.0.0.1/a.png', 'https://localhost/a.png']) {
      const content = [{ type: 'image_url', image_url: { url } }];
      const response = await ask('', { messages: [{ role: 'user', content }] });
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({
        error: { code: 'invalid_parameter', param: 'messages.0.content.0.image_url.url' },
      });
    }
  });
});

describe('an idempotency key', () => {
  it('gets the stored completion again, as JSON or as a stream, charged once', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = await ask('Once only', {}, headers);
    const completion = (await first.json()) as { id: string; choices: { message: { content: string } }[] };
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    const before = await balance();
    const again = await ask('Once only', {}, headers);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.json()).toEqual(completion);
    const streamed = await ask('Once only', { stream: true }, headers);
    const chunks = events(await streamed.text())
      .slice(0, -1)
      .map((data) => JSON.parse(data));
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(
      completion.choices[0]?.message.content,
    );
    expect(chunks[0].id).toBe(completion.id);
    expect(await balance()).toBe(before);
  });

  it('makes one job of twenty calls at once', async () => {
    const headers = { 'idempotency-key': 'crowd' };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => ask('[sandbox:slow=0] crowd', {}, headers)),
    );
    const ids = await Promise.all(
      answers.map(async (answer) => ((await answer.json()) as { id: string }).id),
    );
    expect(new Set(ids).size).toBe(1);
  });

  it('repeats a refusal too, says so, and tells clients not to try again', async () => {
    const headers = { 'idempotency-key': 'refused' };
    const first = await ask('[sandbox:moderated]', {}, headers);
    const again = await ask('[sandbox:moderated]', {}, headers);
    expect([first.status, again.status]).toEqual([400, 400]);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('x-should-retry')).toBe('false');
  });

  it('is free again after a 5xx, for the same request and for another', async () => {
    const headers = { 'idempotency-key': 'failing' };
    const ids = new Set<string | null>();
    for (const stream of [false, true, false]) {
      const failed = await ask('[sandbox:fail]', { stream }, headers);
      expect(failed.status).toBe(502);
      expect(failed.headers.has('idempotent-replayed')).toBe(false);
      expect(failed.headers.has('x-should-retry')).toBe(false);
      ids.add(failed.headers.get('x-chat-completion-id'));
    }
    expect(ids.size).toBe(3);
    const other = await ask('Something else', {}, headers);
    expect([other.status, other.headers.has('idempotent-replayed')]).toEqual([200, false]);
    expect((await ask('[sandbox:fail]', {}, headers)).status).toBe(409);
    for (const id of ids)
      expect(await (await gateway.call(`/v1/jobs/${id}`)).json()).toMatchObject({ status: 'failed' });
  });

  it('is free again after the 429 of an upstream, over REST and over MCP', async () => {
    const headers = { 'idempotency-key': 'busy' };
    for (const stream of [false, true]) {
      const busy = await ask('[sandbox:rate_limit]', { stream }, headers);
      expect([busy.status, busy.headers.has('retry-after')]).toEqual([429, true]);
      expect(busy.headers.has('idempotent-replayed')).toBe(false);
      expect(busy.headers.has('x-should-retry')).toBe(false);
    }
    const assistant = await connectAssistant(gateway, gateway.apiKey);
    onTestFinished(() => assistant.close());
    const made = await assistant.callTool({
      name: 'create_chat_completion',
      arguments: { messages: [{ role: 'user', content: 'Something else' }], idempotency_key: 'busy' },
    });
    expect(made.isError ?? false).toBe(false);
    expect((await ask('[sandbox:rate_limit]', {}, headers)).status).toBe(409);
  });

  it('gives all who wait for a job its failure, which lets them try again', async () => {
    const headers = { 'idempotency-key': 'failing crowd' };
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => ask('[sandbox:slow=3] [sandbox:fail]', {}, headers)),
    );
    expect(answers.map(({ status }) => status)).toEqual([502, 502, 502, 502, 502]);
    expect(new Set(answers.map((answer) => answer.headers.get('x-chat-completion-id'))).size).toBe(1);
    expect(answers.filter((answer) => answer.headers.has('idempotent-replayed'))).toHaveLength(4);
    expect(answers.filter((answer) => answer.headers.has('x-should-retry'))).toEqual([]);
  });

  it('is refused with another request', async () => {
    const headers = { 'idempotency-key': 'conflict' };
    await ask('one', {}, headers);
    const other = await ask('two', {}, headers);
    expect(other.status).toBe(409);
    expect(other.headers.get('x-should-retry')).toBe('false');
    expect(await other.json()).toMatchObject({ error: { code: 'idempotency_conflict' } });
  });
});

describe('money', () => {
  it('refuses a limit that the balance does not cover, and lowers one that was not set', async () => {
    const poor = await startTestGateway();
    try {
      const [account] = await poor.services.store.listAccounts({ limit: 1 });
      const spend = { id: crypto.randomUUID(), accountId: account?.id ?? '', type: 'adjustment' as const };
      await poor.services.store.postEntry({
        ...spend,
        amount: parseUsd('-24.999'),
        note: 'test',
        now: Date.now(),
      });
      const messages = [{ role: 'user', content: 'Hi' }];
      const refused = await poor.call('/v1/chat/completions', { body: { messages, max_tokens: 65_536 } });
      expect(refused.status).toBe(402);
      expect(await refused.json()).toMatchObject({ error: { code: 'insufficient_balance' } });
      const lowered = await poor.call('/v1/chat/completions', { body: { messages } });
      expect(lowered.status).toBe(200);
      const image = await poor.call('/v1/images/generations', {
        body: { model: 'imagemodel-1.0', prompt: 'x' },
      });
      expect(image.status).toBe(402);
      expect(await poor.services.store.checkLedger()).toMatchObject({ problems: [], openHolds: 0 });
    } finally {
      await poor.stop();
    }
  });
});
