import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import { dataUri, makeBulky } from '../media/input-images.ts';
import { startHttp } from '../http/local-hosts.ts';
import { startStubUpstream, type StubUpstream } from '../providers/stub-upstream.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const totalBytes = 20 * 1024 ** 2;

let gateway: TestGateway;
let upstream: StubUpstream;
let apiKey: string;
let picture: Buffer;
let inline: string;

beforeAll(async () => {
  upstream = await startStubUpstream();
  gateway = await startTestGateway({
    environment: {
      ALLOW_LOOPBACK_URLS: 'true',
      UPSTREAM_KEY: 'secret',
      BODY_MEMORY_BYTES: String(totalBytes),
    },
    yaml: `
providers:
  up: { type: openai, base_url: "${upstream.baseUrl}", api_key_env: UPSTREAM_KEY }
models:
  textmodel-3.5-flash:
    { kind: chat, price: { unit: call, price_usd: "0.01" }, routes: [{ provider: up, model: gpt }] }
  imagemodel-1.0:
    { kind: image, price: { unit: call, price_usd: "0.04" }, routes: [{ provider: up, model: gpt-image-1 }] }
`,
  });
  ({ apiKey } = await openAccount(gateway.services));
  picture = makeBulky(1);
  inline = dataUri('image/png', picture);
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const opened: PromiseWithResolvers<void>[] = [];
afterEach(() => {
  for (const gate of opened.splice(0)) gate.resolve();
});

const completionOf = (content: string) => [
  { choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] },
  { choices: [], usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 } },
];

/** The upstream answers its next request when told to. */
const holdUpstream = (content = 'A square.'): PromiseWithResolvers<void> => {
  const gate = Promise.withResolvers<void>();
  opened.push(gate);
  const events = completionOf(content).map(
    (chunk) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt', ...chunk })}\n\n`,
  );
  upstream.script({
    kind: 'raw',
    chunks: (async function* () {
      await gate.promise;
      yield* [...events, 'data: [DONE]\n\n'];
    })(),
  });
  return gate;
};

const chatOf = (url: string) => ({
  messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
});

/** Sends a chat and resolves when the upstream has it. */
const beginChat = async (
  how: 'rest' | 'mcp',
  url: string,
  signal?: AbortSignal,
): Promise<Response | Error> => {
  const call = { name: 'create_chat_completion', arguments: chatOf(url) };
  const body = how === 'rest' ? chatOf(url) : { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call };
  return fetch(gateway.url + (how === 'rest' ? '/v1/chat/completions' : '/mcp'), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: Error) => error);
};

/** Resolves when nothing of the budget is held. */
const untilFree = async (): Promise<void> => {
  const release = await gateway.services.bodyMemory.reserve(totalBytes, {
    signal: new AbortController().signal,
  });
  release();
};

/** What comes first: that all memory is free, or the end of a chat that is answered now. */
const orderOf = async (gate: PromiseWithResolvers<void>): Promise<string[]> => {
  const order: string[] = [];
  const free = untilFree().then(() => order.push('memory is free'));
  // The gateway has time to learn that a client has gone.
  for (let round = 0; round < 5; round += 1) await gateway.call('/v1/balance', { apiKey });
  order.push('the upstream answers');
  gate.resolve();
  await free;
  return order;
};

const jobThenMemory = ['the upstream answers', 'memory is free'];

describe('the memory of a chat', () => {
  it.each(['rest', 'mcp'] as const)(
    'is held for what was sent as long as the job runs, although the client has gone (%s)',
    async (how) => {
      const gate = holdUpstream();
      const leaving = new AbortController();
      const asked = beginChat(how, inline, leaving.signal);
      await upstream.nextRequest();
      leaving.abort();
      expect(await asked).toBeInstanceOf(Error);
      expect(await orderOf(gate)).toEqual(jobThenMemory);
    },
  );

  it.each(['rest', 'mcp'] as const)(
    'is held for the pictures that were downloaded for it (%s)',
    async (how) => {
      const url = `${await startHttp((_request, response) => void response.end(picture))}/a.png`;
      const gate = holdUpstream();
      const asked = beginChat(how, url);
      await upstream.nextRequest();
      expect(await orderOf(gate)).toEqual(jobThenMemory);
      expect(await asked).toMatchObject({ status: 200 });
    },
  );
});

describe('the memory of a body that did not tell its length', () => {
  it('is what it turned out to take, once it is here', async () => {
    const gate = holdUpstream();
    const chat = JSON.stringify({ messages: [{ role: 'user', content: 'word '.repeat(40_000) }] });
    const asked = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: new Blob([chat]).stream(),
      duplex: 'half',
    });
    await upstream.nextRequest();
    // The largest body takes all there is.
    const release = await gateway.services.bodyMemory.reserve(totalBytes / 2, {
      signal: new AbortController().signal,
    });
    release();
    gate.resolve();
    expect((await asked).status).toBe(200);
  });
});

describe('the memory of a response', () => {
  it('is held for the items that were looked up for it', async () => {
    const ask = (input: unknown): Promise<Response> =>
      gateway.call('/v1/responses', { apiKey, body: { input } });
    const first = holdUpstream('word '.repeat(100_000));
    const answering = ask('Write much.');
    await upstream.nextRequest();
    first.resolve();
    const { output } = (await (await answering).json()) as { output: { id: string }[] };
    await untilFree();
    const gate = holdUpstream();
    const asked = ask([
      { type: 'item_reference', id: output[0]?.id },
      { role: 'user', content: 'Shorter.' },
    ]);
    await upstream.nextRequest();
    expect(await orderOf(gate)).toEqual(jobThenMemory);
    expect((await asked).status).toBe(200);
  });
});

describe('the memory of an edit of an image', () => {
  it('is given back for the most part once its inputs are kept, before the answer', async () => {
    const gate = holdUpstream();
    const edit = { model: 'imagemodel-1.0', prompt: 'warmer', image: inline };
    const slow = gateway.call('/v1/images/generations', { apiKey, body: edit });
    await upstream.nextRequest();
    // Beside what the first one took to be read, the second would not have found room.
    const second = await gateway.call('/v1/images/generations?async=true', {
      apiKey,
      body: edit,
    });
    expect(second.status).toBe(202);
    gate.resolve();
    await slow;
    await untilFree();
  });
});
