import { createServer } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import type { ProviderTimeouts } from '../../../src/providers/remote-settings.ts';
import { ProviderError } from '../../../src/providers/provider-error.ts';
import { createTextRouter } from '../../../src/providers/router.ts';
import type { TextEvent, TextRequest } from '../../../src/providers/text/text-provider.ts';
import { contentOf, noAbort, onlyRoute, rejectionOf } from '../collect.ts';
import { contentPolicyRefusal, shortChat, type StubBehaviour } from '../stub-upstream.ts';
import { request, told, useStub } from './ask-stub.ts';

const used = useStub();
const { createText } = used;

const ask = (
  changes: Partial<TextRequest> = {},
  timeouts: Partial<ProviderTimeouts> = {},
): Promise<TextEvent[]> => told(createText(timeouts), { ...request, ...changes });

const failureOf = async (behaviour: StubBehaviour, timeouts: Partial<ProviderTimeouts> = {}) => {
  used.stub.script(behaviour);
  const error = await rejectionOf(ask({}, timeouts));
  if (!(error instanceof ProviderError)) throw error;
  return error;
};

const piece = { choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] };
/** A stream that breaks off after two chunks, each of which says that it is the last one. */
const alwaysLast: StubBehaviour = {
  kind: 'raw',
  chunks: (async function* () {
    for (const _time of [1, 2]) yield `data: ${JSON.stringify(piece)}\n\n`;
    yield await Promise.reject<string>(new Error('the machine fails'));
  })(),
};

describe('a failure', () => {
  it.each([
    [400, 'fatal', 'invalid_parameter'],
    [413, 'fatal', 'invalid_parameter'],
    [422, 'fatal', 'invalid_parameter'],
    [401, 'retry_other', 'upstream_unavailable'],
    [403, 'retry_other', 'upstream_unavailable'],
    [404, 'retry_other', 'upstream_unavailable'],
    [302, 'retry_other', 'upstream_unavailable'],
    [408, 'retry_same', 'upstream_error'],
    [429, 'retry_same', 'rate_limit_exceeded'],
    [500, 'retry_same', 'upstream_error'],
    [502, 'retry_same', 'upstream_error'],
    [503, 'retry_same', 'upstream_unavailable'],
  ])('with status %i is %s, %s', async (status, failure, code) => {
    const asked = used.stub.requests.length;
    const error = await failureOf({ kind: 'error', status, message: 'secret upstream words' });
    expect(error).toMatchObject({ failure, code, explanation: undefined });
    expect(used.stub.requests.length - asked).toBe(1);
  });

  it('by our own quota there is not a rate limit', async () => {
    const error = await failureOf({ kind: 'error', status: 429, code: 'insufficient_quota' });
    expect(error).toMatchObject({ failure: 'retry_other', code: 'upstream_unavailable' });
  });

  it.each([
    ['Request too large for m on tokens per min (TPM): Limit 30000, Requested 65600. Use fewer.', true],
    ['Request too large for this model.', true],
    ['Rate limit reached for m on input-images per min: Limit 5, Used 0, Requested 16. Try later.', true],
    ['Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.', false],
    ['Limit 1', false],
  ])(
    'with the status of a rate limit is of a request too large for any minute: %s',
    async (message, isOwn) => {
      const error = await failureOf({ kind: 'error', status: 429, code: 'rate_limit_exceeded', message });
      const own = { failure: 'retry_other', code: 'invalid_parameter', isOfRequest: true };
      const others = { failure: 'retry_same', code: 'rate_limit_exceeded', isOfRequest: false };
      expect(error).toMatchObject(isOwn ? own : others);
    },
  );

  /** The failure by an answer with a status and a JSON body. */
  const failureBy = (status: number, body: unknown) => {
    const headers = { 'content-type': 'application/json' };
    return failureOf({ kind: 'raw', status, headers, chunks: [JSON.stringify(body)] });
  };

  it.each([
    ['missing model', { error: { code: 'model_not_found' } }],
    ['retired model (Groq)', { error: { code: 'model_decommissioned' } }],
    ['missing model (Mistral)', { message: 'Invalid model: m', type: 'invalid_model', code: '1500' }],
    ['missing model (OpenRouter)', { error: { message: 'a/b is not a valid model ID', code: 400 } }],
    ['missing model (DeepSeek)', { error: { message: 'Model Not Exist', code: 'invalid_request_error' } }],
    ['spent budget (OpenAI)', { error: { code: 'billing_hard_limit_reached' } }],
    [
      'spent limit (Anthropic)',
      { error: { message: 'You have reached your specified API usage limits. …' } },
    ],
    ['refused place (Gemini)', [{ error: { message: 'User location is not supported for the API use.' } }]],
    ['spent balance (Anthropic)', { error: { message: 'Your credit balance is too low to access the API' } }],
    ['wrong key (xAI)', { code: 'Client specified …', error: 'Incorrect API key provided: xa***b.' }],
    ['missing key (Gemini)', [{ error: { code: 400, message: 'API Key not found. Please pass …' } }]],
    ['wrong key (Gemini)', [{ error: { code: 400, message: 'API key not valid. Please pass …' } }]],
  ])('by a %s is another route’s chance, also as a 400', async (_what, body) => {
    expect(await failureBy(400, body)).toMatchObject({
      failure: 'retry_other',
      code: 'upstream_unavailable',
    });
  });

  it.each([
    ['Alibaba', 400, { error: { code: 'data_inspection_failed', message: 'Input may be inappropriate.' } }],
    ['OpenAI', 400, { error: { code: 'invalid_prompt', message: 'Invalid prompt: it was flagged.' } }],
    ['DeepSeek', 400, { error: { message: 'Content Exists Risk', code: 'invalid_request_error' } }],
    ['xAI', 400, { code: 'Client …', error: 'Generated image rejected by content moderation.' }],
    ['xAI', 403, { code: 'The …', error: 'Content violates usage guidelines. Team: a, API key ID: b' }],
  ])('by content policy has a form of its own at %s, with status %i', async (_who, status, body) => {
    const error = await failureBy(status, body);
    expect(error).toMatchObject({ failure: 'fatal', code: 'content_policy_violation' });
    expect(String(error.explanation)).not.toContain('Team');
  });

  it.each([
    ['a list of errors, as of Gemini', [{ error: { code: 400, message: 'No.' } }], 'No.'],
    ['a form that is not known', { detail: 'No.' }, '{"detail":"No."}'],
  ])('tells the log what the upstream says in %s', async (_form, body, said) => {
    expect((await failureBy(400, body)).message).toBe(`the upstream answered 400: ${said}`);
  });

  it.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '1', 'retry-after-ms': '120' }, 120],
  ])('by a rate limit tells how long to wait (%o)', async (headers, retryAfterMs) => {
    expect(await failureOf({ kind: 'error', status: 429, headers })).toMatchObject({ retryAfterMs });
  });

  it('by content policy has an explanation that does not name the upstream', async () => {
    expect(await failureOf(contentPolicyRefusal)).toMatchObject({
      failure: 'fatal',
      code: 'content_policy_violation',
      explanation: 'Your request was rejected by the safety system.',
    });
  });

  it('by content policy is explained in one line without what steers a terminal', async () => {
    const message = 'Not\nthis\u001b]0;x\u0007.\r\n\u202eNor\u2028that.';
    expect(
      await failureOf({ kind: 'error', status: 400, code: 'content_policy_violation', message }),
    ).toMatchObject({
      explanation: 'Not this]0;x. Nor that.',
    });
  });

  it.each([
    [
      403,
      {
        message: 'anthropic/claude requires moderation on Anthropic. Your input was flagged for "violence".',
        metadata: { reasons: ['violence'], flagged_input: 'a fight' },
      },
      {
        failure: 'fatal',
        code: 'content_policy_violation',
        explanation: 'Your input was flagged for "violence".',
      },
    ],
    [
      404,
      {
        message: 'No endpoints found that support tool use. To learn more, visit: https://openrouter.ai/docs',
      },
      { failure: 'retry_other', code: 'invalid_parameter' },
    ],
  ])(
    'of one request with status %i, as OpenRouter sends it, closes no model',
    async (code, error, failure) => {
      const route = onlyRoute(createText());
      const router = createTextRouter([route], { clock: { now: () => 0 }, log: silentLog });
      const chunks = [JSON.stringify({ error: { code, ...error } })];
      const headers = { 'content-type': 'application/json' };
      for (let count = 0; count < 20; count += 1) {
        used.stub.script({ kind: 'raw', status: code, headers, chunks });
        const asking = router.answer(request, { signal: noAbort(), emit: () => undefined });
        expect(await rejectionOf(asking)).toMatchObject(failure);
      }
      expect(route.breaker.state()).toBe('closed');
    },
  );

  it('by a model that OpenRouter does not know is the route’s', async () => {
    const error = await failureOf({ kind: 'error', status: 404, message: 'No endpoints found for a/b.' });
    expect(error).toMatchObject({ failure: 'retry_other', code: 'upstream_unavailable' });
  });

  const refusal = (param: string, code: string): StubBehaviour => {
    const error = { message: `'${param}' is not supported`, type: 'invalid_request_error', param, code };
    return { kind: 'raw', status: 400, chunks: [JSON.stringify({ error })] };
  };

  it('by the name of the output limit, as of newer models of OpenAI behind a proxy, is its last', async () => {
    const text = createText();
    const asked = used.stub.requests.length;
    const refused = refusal('max_tokens', 'unsupported_parameter');
    used.stub.script(refused, refused);
    const first = await Promise.all([told(text), told(text)]);
    expect([...first, await told(text)].map(contentOf)).toEqual(
      Array.from({ length: 3 }, () => 'Hello world'),
    );
    const names = used.stub.requests.slice(asked).map(({ body }) => Object.keys(body as object)[2]);
    expect(names).toEqual([
      'max_tokens',
      'max_tokens',
      ...Array.from({ length: 3 }, () => 'max_completion_tokens'),
    ]);
  });

  it('by a best-effort option, which the model does not take, is answered without it', async () => {
    const options = { temperature: 0.5, top_p: 0.9, response_format: { type: 'json_object' } };
    used.stub.script(
      refusal('temperature', 'unsupported_value'),
      refusal('top_p', 'unsupported_parameter'),
      shortChat,
    );
    expect(contentOf(await ask({ options }))).toBe('Hello world');
    const [refused, , answered] = used.stub.requests.slice(-3).map(({ body }) => ({ ...(body as object) }));
    expect({ ...answered, temperature: 0.5, top_p: 0.9 }).toEqual(refused);
    expect(answered).not.toMatchObject({ temperature: 0.5 });
    expect(answered).not.toMatchObject({ top_p: 0.9 });
    const xai = (error: string): StubBehaviour => ({
      kind: 'raw',
      status: 400,
      chunks: [JSON.stringify({ code: 'Client specified an invalid argument', error })],
    });
    used.stub.script(
      xai('Argument not supported on this model: topP'),
      xai('Model grok-4 does not support parameter temperature.'),
    );
    await ask({ options });
    expect(used.stub.requests.at(-1)?.body).toEqual(answered);
    used.stub.script(refusal('response_format', 'unsupported_parameter'));
    expect(await rejectionOf(ask({ options }))).toMatchObject({
      failure: 'fatal',
      code: 'invalid_parameter',
    });
  });

  it('by `logprobs` is answered also without what is of no use alone', async () => {
    used.stub.script(refusal('logprobs', 'unsupported_parameter'));
    expect(contentOf(await ask({ options: { logprobs: true, top_logprobs: 2, top_p: 1 } }))).toBe(
      'Hello world',
    );
    const { body } = used.stub.requests.at(-1) ?? {};
    expect(Object.keys(body as object)[0]).toBe('top_p');
  });

  it('to connect did nothing', async () => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    server.close();
    await once(server, 'close');
    const text = createText({}, 'k', `http://127.0.0.1:${port}/v1`);
    expect(await rejectionOf(told(text))).toMatchObject({
      failure: 'retry_same',
      code: 'upstream_unavailable',
    });
  });

  it('to connect in time did nothing', async () => {
    // Takes the connection and never shakes hands.
    const server = createServer((socket) => void socket.resume());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    const text = createText({ connectMs: 100 }, 'k', `https://127.0.0.1:${port}/v1`);
    expect(await rejectionOf(told(text))).toMatchObject({
      failure: 'retry_same',
      code: 'upstream_unavailable',
    });
    server.close();
  });

  it('by a host that speaks no TLS is another route’s chance', async () => {
    const text = createText({}, 'k', used.stub.baseUrl.replace('http:', 'https:'));
    expect(await rejectionOf(told(text))).toMatchObject({
      failure: 'retry_other',
      code: 'upstream_unavailable',
    });
  });

  it.each<[string, StubBehaviour, Partial<ProviderTimeouts>]>([
    ['no first byte in time', { kind: 'silence' }, { firstByteMs: 100 }],
    [
      'a stall in the stream',
      { kind: 'broken', chat: shortChat, after: 1, ending: 'stall' },
      { idleMs: 100 },
    ],
    ['an answer that has not begun in time', { kind: 'silence' }, { totalMs: 100 }],
    ['a reset before the headers', { kind: 'hang-up' }, {}],
    ['a reset in the stream', { kind: 'broken', chat: shortChat, after: 1, ending: 'reset' }, {}],
    ['a reset in a stream whose chunks all have a finish reason (gcli2api)', alwaysLast, {}],
    ['an early end', { kind: 'broken', chat: shortChat, after: 1, ending: 'end' }, {}],
    [
      'a stream without a finish reason',
      { kind: 'chat', pieces: ['x'], finish: null, usage: null, done: false },
      {},
    ],
    ['[DONE] without a finish reason', { kind: 'chat', pieces: ['x'], finish: null }, {}],
    ['an end by a fault (OpenRouter)', { kind: 'chat', pieces: ['x'], finish: 'error' }, {}],
    ['an end by a lost network (Zhipu)', { kind: 'chat', pieces: ['x'], finish: 'network_error' }, {}],
    ['an end by an abort (vLLM)', { kind: 'chat', pieces: ['x'], finish: 'abort' }, {}],
    [
      'an end for want of machines (DeepSeek)',
      { kind: 'chat', pieces: ['x'], finish: 'insufficient_system_resource' },
      {},
    ],
    ['an empty answer', { kind: 'raw', chunks: [] }, {}],
    [
      'JSON where a stream was asked for',
      { kind: 'raw', headers: { 'content-type': 'application/json' }, chunks: ['{"a":1}'] },
      {},
    ],
    ['garbage', { kind: 'raw', chunks: ['data: {"choices": [{]\n\n'] }, {}],
    [
      'an error in the stream',
      { kind: 'raw', chunks: ['data: {"error":{"message":"no","type":"server_error"}}\n\n'] },
      {},
    ],
    [
      'a line without end',
      { kind: 'raw', chunks: Array.from({ length: 10 }, () => 'x'.repeat(1024 * 1024)) },
      {},
    ],
  ])('by %s may have done its work', async (_name, behaviour, timeouts) => {
    expect(await failureOf(behaviour, timeouts)).toMatchObject({
      failure: 'ambiguous',
      code: 'upstream_error',
    });
  });

  it('in the stream with a status in its code counts as that status', async () => {
    const error = await failureOf({
      kind: 'raw',
      chunks: ['data: {"error":{"message":"slow down","code":429}}\n\n'],
    });
    expect(error).toMatchObject({ failure: 'retry_same', code: 'rate_limit_exceeded' });
  });
});
