import { describe, expect, it } from 'vitest';
import type { ProviderTimeouts } from '../../../src/providers/remote-settings.ts';
import type { TextProvider, TextRequest } from '../../../src/providers/text/text-provider.ts';
import { contentOf, finishOf, rejectionOf, usageOf } from '../collect.ts';
import { chatStream, shortChat, type StubBehaviour } from '../stub-upstream.ts';
import { request, told, useStub } from './ask-stub.ts';

const used = useStub();
const { createText } = used;

describe('an answer that nobody reads before its end', () => {
  const whole: TextRequest = { ...request, isWhole: true };
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  const json = (...chunks: string[]): StubBehaviour => ({
    kind: 'raw',
    headers: { 'content-type': 'application/json' },
    chunks,
  });
  const completion = (message: object, more: object = {}): StubBehaviour =>
    json(JSON.stringify({ choices: [{ message, finish_reason: 'stop', ...more }], usage }));

  /** A text whose upstream has answered before. */
  const knownText = async (timeouts: Partial<ProviderTimeouts> = {}): Promise<TextProvider> => {
    const text = createText(timeouts);
    await told(text, whole);
    return text;
  };

  it('is asked for in one piece once the upstream has shown that it is fast', async () => {
    const text = createText();
    await told(text, whole);
    expect(used.stub.requests.at(-1)?.body).toMatchObject({ stream: true });
    expect(contentOf(await told(text, whole))).toBe('Hello world');
    expect(used.stub.requests.at(-1)?.body).toEqual({
      model: 'upstream-model',
      messages: [{ role: 'user', content: 'Say hello' }],
      max_tokens: 50,
      stream: false,
    });
  });

  it('is a stream as long as the limit of its tokens, or its bulk, could keep the connection silent', async () => {
    const text = await knownText();
    await told(text, { ...whole, maxOutputTokens: 100_000_000 });
    expect(used.stub.requests.at(-1)?.body).toMatchObject({ stream: true });
    await told(text, { ...whole, options: { logprobs: true } });
    expect(used.stub.requests.at(-1)?.body).toMatchObject({ stream: true });
    await told(text, { ...whole, isWhole: false });
    expect(used.stub.requests.at(-1)?.body).toMatchObject({ stream: true });
  });

  it('has the same events as the stream of the same answer, each text in one piece', async () => {
    const text = await knownText();
    const words = { role: 'assistant', content: 'Hi', refusal: null, annotations: [] };
    used.stub.script(
      completion(words, { logprobs: null }),
      completion({ ...words, content: null, reasoning_content: 'Hm', refusal: 'No' }),
    );
    const told1 = await told(text, whole);
    expect(told1.slice(0, 2)).toEqual([
      { type: 'content', text: 'Hi' },
      { type: 'finish', reason: 'stop' },
    ]);
    expect(usageOf(told1)).toMatchObject({ promptTokens: 3, completionTokens: 2 });
    expect((await told(text, whole)).slice(0, 2)).toEqual([
      { type: 'reasoning', text: 'Hm' },
      { type: 'refusal', text: 'No' },
    ]);
    const parts = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] },
      { type: 'text', text: 'Hi' },
    ];
    used.stub.script(completion({ content: parts }));
    expect((await told(text, whole)).slice(0, 2)).toEqual([
      { type: 'reasoning', text: 'Hm' },
      { type: 'content', text: 'Hi' },
    ]);
  });

  it('is asked for in one piece at once where it is spoken into a file, which OpenAI does not stream', async () => {
    const spoken = (format: string | null, modalities = ['text', 'audio']): TextRequest => ({
      ...whole,
      options: { audio: { voice: 'alloy', format }, modalities },
    });
    for (const request of [spoken('pcm16'), spoken(null), spoken('wav', ['text'])]) {
      await told(createText(), request);
      expect(used.stub.requests.at(-1)?.body).toMatchObject({ stream: true });
    }
    const text = createText();
    await told(text, spoken('wav'));
    expect(used.stub.requests.at(-1)?.body).toMatchObject({ stream: false });
    used.stub.script({ kind: 'error', status: 400, message: 'Audio output requires stream: true' });
    await told(text, spoken('wav'));
    await told(text, spoken('wav'));
    expect(used.stub.requests.slice(-3).map(({ body }) => body)).toMatchObject([
      { stream: false },
      { stream: true },
      { stream: true },
    ]);
  });

  it.each(['application/json', 'text/event-stream'])(
    'is read in one piece from an upstream that was asked for a stream and answers so as %s',
    async (type) => {
      const message = { role: 'assistant', content: 'Hello' };
      const usage = { prompt_tokens: 70, completion_tokens: 20 };
      const body = { choices: [{ index: 0, message, finish_reason: 'stop' }], usage };
      const headers = { 'content-type': type };
      used.stub.script({ kind: 'raw', headers, chunks: [`${JSON.stringify(body)}\n\ndata: [DONE]\n\n`] });
      expect(await told(used.createText())).toMatchObject([
        { type: 'content', text: 'Hello' },
        { type: 'finish', reason: 'stop' },
        { type: 'usage', usage: { promptTokens: 70, completionTokens: 20 } },
      ]);
      const refusal = { error: { code: 'content_policy_violation', message: 'Not this.' } };
      used.stub.script({ kind: 'raw', headers, chunks: [JSON.stringify(refusal)] });
      expect(await rejectionOf(told(used.createText()))).toMatchObject({
        code: 'content_policy_violation',
        explanation: 'Not this.',
      });
    },
  );

  it('is read as a stream from an upstream that streams all the same', async () => {
    const text = await knownText();
    used.stub.script({ kind: 'split', chat: { kind: 'chat', pieces: ['a', 'b'] }, bytes: 50 });
    const events = await told(text, whole);
    expect(used.stub.requests.at(-1)?.body).toMatchObject({ stream: false });
    expect(events.slice(0, 2)).toEqual([
      { type: 'content', text: 'a' },
      { type: 'content', text: 'b' },
    ]);
  });

  it('keeps several calls apart that have no index and the same id', async () => {
    const text = await knownText();
    const call = (name: string) => ({ id: 'a', type: 'function', function: { name, arguments: '{}' } });
    used.stub.script(completion({ content: null, tool_calls: [call('one'), call('two')] }));
    const events = await told(text, whole);
    expect(events.slice(0, 2)).toEqual([
      { type: 'tool_call', index: 0, id: 'a', name: 'one', arguments: '{}' },
      { type: 'tool_call', index: 1, id: 'a', name: 'two', arguments: '{}' },
    ]);
    expect(finishOf(events)).toBe('tool_calls');
  });

  it('may be silent longer than a stream, by how fast its model is known to be', async () => {
    const answerAfter = (ms: number, type: string, body: string): StubBehaviour => ({
      kind: 'raw',
      headers: { 'content-type': type },
      chunks: (async function* () {
        await new Promise((resolve) => setTimeout(resolve, ms));
        yield body;
      })(),
    });
    const choice = { message: { content: 'late' }, delta: { content: 'late' }, finish_reason: 'stop' };
    const body = JSON.stringify({ choices: [choice], usage });
    const text = createText({ firstByteMs: 2_000, idleMs: 2_000 });
    used.stub.script(answerAfter(500, 'text/event-stream', `data: ${body}\n\ndata: [DONE]\n\n`));
    await told(text, whole);
    used.stub.script(answerAfter(2_800, 'application/json', body));
    expect(contentOf(await told(text, whole))).toBe('late');
    expect(used.stub.requests.at(-1)?.body).toMatchObject({ stream: false });
    // Much longer than that is no answer any more, although the whole one may take minutes.
    used.stub.script({ kind: 'silence' });
    expect(await rejectionOf(told(text, whole))).toMatchObject({ failure: 'ambiguous' });
    await told(text, whole);
    expect(used.stub.requests.at(-1)?.body).toMatchObject({ stream: true });
  });

  it('is asked for as a stream at once, and from then on, if the model refuses to answer otherwise', async () => {
    const text = await knownText();
    used.stub.script({ kind: 'error', status: 400, message: 'This model only supports streams' });
    const before = used.stub.requests.length;
    for (const _call of [1, 2, 3]) expect(contentOf(await told(text, whole))).toBe('Hello world');
    const asked = used.stub.requests.slice(before).map(({ body }) => body);
    expect(asked).toMatchObject([{ stream: false }, { stream: true }, { stream: true }, { stream: true }]);
  });

  it.each([
    ['to stream for an organization that OpenAI has not verified', 'Your organization must be verified to …'],
    ['all streams', "Unsupported value: 'stream' does not support true with this model."],
  ])('is all that a model gives which refuses %s', async (_what, message) => {
    const text = createText();
    const before = used.stub.requests.length;
    const error = { code: 'unsupported_value', param: 'stream', message };
    used.stub.script({ kind: 'raw', status: 400, chunks: [JSON.stringify({ error })] });
    for (const _call of [1, 2]) expect(contentOf(await told(text))).toBe('Hello world');
    // A wrong request is no sign that the model streams.
    used.stub.script({ kind: 'error', status: 400, message: 'no such thing' });
    expect(await rejectionOf(told(text))).toMatchObject({ failure: 'fatal', code: 'invalid_parameter' });
    const asked = used.stub.requests.slice(before).map(({ body }) => body);
    expect(asked).toMatchObject([{ stream: true }, ...Array.from({ length: 3 }, () => ({ stream: false }))]);
  });

  it('that is refused after its first words is not asked for once more', async () => {
    const text = await knownText();
    const before = used.stub.requests.length;
    const words = chatStream({ ...shortChat, finish: null, done: false });
    const error = { code: 400, message: 'No.' };
    used.stub.script({ kind: 'raw', chunks: [words, `data: ${JSON.stringify({ error })}\n\n`] });
    expect(await rejectionOf(told(text, whole))).toMatchObject({ code: 'invalid_parameter' });
    expect(used.stub.requests.slice(before)).toHaveLength(1);
  });

  it('that is refused for another option is not asked for as a stream', async () => {
    const text = await knownText();
    const before = used.stub.requests.length;
    const error = { code: 'unsupported_parameter', param: 'response_format', message: 'No.' };
    used.stub.script({ kind: 'raw', status: 400, chunks: [JSON.stringify({ error })] });
    expect(await rejectionOf(told(text, whole))).toMatchObject({ code: 'invalid_parameter' });
    expect(used.stub.requests.slice(before)).toHaveLength(1);
  });

  it('that is refused as a stream, too, fails as the request deserves, and is no sign of the model', async () => {
    const text = await knownText();
    const refusal: StubBehaviour = { kind: 'error', status: 400, message: 'no such thing' };
    used.stub.script(refusal, refusal);
    expect(await rejectionOf(told(text, whole))).toMatchObject({
      failure: 'fatal',
      code: 'invalid_parameter',
    });
    await told(text, whole);
    await told(text, whole);
    expect(used.stub.requests.at(-1)?.body).toMatchObject({ stream: false });
  });

  it.each<[string, StubBehaviour]>([
    ['a reset', { kind: 'hang-up' }],
    ['an answer without a finish reason', completion({ content: 'x' }, { finish_reason: null })],
    ['an answer that is not JSON', json('data: [DONE]\n\n')],
    ['an empty answer', json('')],
    ['an error with status 200', json('{"error":{"message":"no"}}')],
    ['an answer without end', json(...Array.from({ length: 10 }, () => ' '.repeat(2 ** 20)))],
  ])('fails by %s, after which the next one is a stream', async (_name, behaviour) => {
    const text = await knownText();
    used.stub.script(behaviour);
    const failure = { failure: 'ambiguous', code: 'upstream_error' };
    expect(await rejectionOf(told(text, whole))).toMatchObject(failure);
    await told(text, whole);
    expect(used.stub.requests.at(-1)?.body).toMatchObject({ stream: true });
  });

  it('ends with the reason of an abort, and closes the connection', async () => {
    const text = await knownText();
    used.stub.script({ kind: 'silence' });
    const before = used.stub.requests.length;
    const controller = new AbortController();
    const reading = told(text, whole, controller.signal);
    while (used.stub.requests.length === before) await used.stub.nextRequest();
    const reason = new Error('the process is ending');
    controller.abort(reason);
    expect(await rejectionOf(reading)).toBe(reason);
    await used.stub.requests.at(-1)?.closed;
  });
});
