import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import { startStubUpstream, type StubUpstream } from '../providers/stub-upstream.ts';
import { connectAssistant } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let first: StubUpstream;
let second: StubUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  [first, second] = await Promise.all([startStubUpstream(), startStubUpstream()]);
  const route = '[{ provider: first, model: m }, { provider: second, model: m }]';
  gateway = await startTestGateway({
    environment: { UPSTREAM_KEY: 'upstream-secret' },
    yaml: `
providers:
  first: { type: openai, base_url: "${first.baseUrl}", api_key_env: UPSTREAM_KEY }
  second: { type: openai, base_url: "${second.baseUrl}", api_key_env: UPSTREAM_KEY }
models:
  textmodel-3.5-flash: { kind: chat, price: { unit: call, price_usd: "0.25" }, routes: ${route} }
  imagemodel-1.0: { kind: image, price: { unit: call, price_usd: "0.125" }, routes: ${route} }
`,
  });
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([first.close(), second.close()]);
});

const open = async (): Promise<string> => (await openAccount(gateway.services)).apiKey;

const chat = { messages: [{ role: 'user', content: 'Hello' }] };

/** Returns what an answer tells of its price, when its body has been read. */
const billOf = async (answer: Response): Promise<Record<string, string>> => {
  await answer.text();
  const told = [...answer.headers].filter(([name]) => /^x-causeway-(?!sandbox)/.test(name));
  return Object.fromEntries(told.map(([name, value]) => [name.slice('x-causeway-'.length), value]));
};

describe('the headers that tell the price', () => {
  it('name the provider that answered when the one before it failed', async () => {
    const apiKey = await open();
    const ask = () => gateway.call('/v1/chat/completions', { apiKey, body: chat });
    expect(await billOf(await ask())).toEqual({
      provider: 'first',
      'charge-usd': '0.25',
      'balance-usd': '9.75',
    });
    first.script({ kind: 'error', status: 404, code: 'model_not_found' });
    expect(await billOf(await ask())).toEqual({
      provider: 'second',
      'charge-usd': '0.25',
      'balance-usd': '9.50',
    });
  });

  it('tell of a response the same, and of the response when it is read again', async () => {
    const apiKey = await open();
    const answer = await gateway.call('/v1/responses', { apiKey, body: { input: 'Hello' } });
    const id = answer.headers.get('x-response-id') ?? '';
    expect(await billOf(answer)).toEqual({ provider: 'first', 'charge-usd': '0.25', 'balance-usd': '9.75' });
    expect(await billOf(await gateway.call(`/v1/responses/${id}`, { apiKey }))).toEqual({
      provider: 'first',
      'charge-usd': '0.25',
    });
  });

  it('tell the hold of a stream that has begun, and the charge when the job is read', async () => {
    const apiKey = await open();
    const ask = () =>
      gateway.call('/v1/chat/completions', {
        apiKey,
        body: { ...chat, stream: true },
        headers: { 'idempotency-key': 'one' },
      });
    const waiting = Promise.withResolvers<string>();
    const pieces = (async function* () {
      yield `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hi' } }] })}\n\n`;
      yield await waiting.promise;
      yield 'data: [DONE]\n\n';
    })();
    first.script({ kind: 'raw', headers: { 'content-type': 'text/event-stream' }, chunks: pieces });
    const answer = await ask();
    waiting.resolve(
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: { prompt_tokens: 3, completion_tokens: 1 } })}\n\n`,
    );
    const id = answer.headers.get('x-chat-completion-id') ?? '';
    expect(await billOf(answer)).toEqual({ provider: 'first', 'hold-usd': '0.25' });
    expect(await billOf(await ask())).toEqual({ provider: 'first', 'charge-usd': '0.25' });
    expect(await billOf(await gateway.call(`/v1/jobs/${id}`, { apiKey }))).toEqual({
      provider: 'first',
      'charge-usd': '0.25',
      'balance-usd': '9.75',
    });
  });

  it('tell the original charge of a repeated request, and that a failed one was free', async () => {
    const apiKey = await open();
    const ask = (key: string) =>
      gateway.call('/v1/chat/completions', { apiKey, body: chat, headers: { 'idempotency-key': key } });
    await billOf(await ask('first'));
    await billOf(await ask('second'));
    expect(await billOf(await ask('first'))).toEqual({ provider: 'first', 'charge-usd': '0.25' });
    first.script({ kind: 'error', status: 400, code: 'content_policy_violation' });
    expect(await billOf(await ask('third'))).toEqual({ 'charge-usd': '0.00', 'balance-usd': '9.50' });
  });

  it('tell the hold of a job that is only accepted', async () => {
    const apiKey = await open();
    const body = { model: 'imagemodel-1.0', prompt: 'a pier' };
    const accepted = await gateway.call('/v1/images/generations?async=true', { apiKey, body });
    expect(accepted.status).toBe(202);
    expect(await billOf(accepted)).toEqual({ 'hold-usd': '0.125', 'balance-usd': '9.875' });
  });

  it('go into _meta of a tool result', async () => {
    const client = await connectAssistant(gateway, await open());
    try {
      const { _meta: meta } = await client.callTool({ name: 'create_chat_completion', arguments: chat });
      expect(meta).toEqual({
        'causeway/provider': 'first',
        'causeway/charge-usd': '0.25',
        'causeway/balance-usd': '9.75',
      });
    } finally {
      await client.close();
    }
  });
});
