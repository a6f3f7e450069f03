import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import { shortChat, startStubUpstream, type StubUpstream } from '../providers/stub-upstream.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let upstream: StubUpstream;
let gateway: TestGateway;
let apiKey: string;

/** A gateway that waits a second for a whole answer, and longer for the next piece of one. */
beforeAll(async () => {
  upstream = await startStubUpstream();
  gateway = await startTestGateway({
    environment: { UPSTREAM_KEY: 'upstream-secret' },
    yaml: `
providers:
  up: { type: openai, base_url: "${upstream.baseUrl}", api_key_env: UPSTREAM_KEY, total_ms: 1000 }
models:
  textmodel-3.5-flash:
    kind: chat
    price: { unit: token, input_usd_per_1m: "1.05", output_usd_per_1m: "6.30" }
    routes: [{ provider: up, model: upstream-name }]
`,
  });
  ({ apiKey } = await openAccount(gateway.services));
});
beforeEach(() => upstream.script({ kind: 'broken', chat: shortChat, after: 2, ending: 'stall' }));
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const ask = (path: string, body: object): Promise<Response> => gateway.call(path, { apiKey, body });
const chat = { messages: [{ role: 'user', content: 'Say hello' }] };
/** 9 tokens of the prompt and 2 of the answer: 9 * 1.05 + 2 * 6.30 per million. */
const cost = '0.00002205';
const costOf = async (jobId: string | undefined): Promise<unknown> =>
  (await gateway.call(`/v1/jobs/${jobId}`, { apiKey })).json();

it('a chat ends as if at its output limit, and is charged by the tokens that came', async () => {
  const answer = await ask('/v1/chat/completions', chat);
  const completion = (await answer.json()) as { id: string };
  expect(completion).toMatchObject({
    choices: [{ finish_reason: 'length', message: { content: 'Hello world' } }],
    usage: { prompt_tokens: 9, completion_tokens: 2 },
  });
  expect(await costOf(completion.id.replace('chatcmpl-', ''))).toMatchObject({ usage: { cost_usd: cost } });
});

it('a streamed chat ends so, too', async () => {
  const answer = await ask('/v1/chat/completions', { ...chat, stream: true });
  const text = await answer.text();
  expect(text).toContain('"finish_reason":"length"');
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  const jobId = answer.headers.get('x-chat-completion-id')?.replace('chatcmpl-', '');
  expect(await costOf(jobId)).toMatchObject({ status: 'done', usage: { cost_usd: cost } });
});

it('a streamed response is incomplete then, and charged', async () => {
  const answer = await ask('/v1/responses', { input: 'Say hello', stream: true });
  const text = await answer.text();
  expect(text).toContain('event: response.incomplete');
  expect(text).toContain('"incomplete_details":{"reason":"max_output_tokens"}');
  const jobId = answer.headers.get('x-response-id')?.replace('resp_', '');
  expect(await costOf(jobId)).toMatchObject({ status: 'done', usage: { cost_usd: cost } });
});
