import { expect, describe, it } from 'vitest';
import type { ProviderTimeouts } from '../../../src/providers/remote-settings.ts';
import type { TextEvent } from '../../../src/providers/text/text-provider.ts';
import { finishOf } from '../collect.ts';
import { chatStream, shortChat, type StubChat } from '../stub-upstream.ts';
import { request, told, useStub } from './ask-stub.ts';

const used = useStub();
const limit = 1_000;

/** The upstream sends this much of an answer, and then nothing. */
const begin = (
  chat: Partial<StubChat>,
  begun = chatStream({ ...shortChat, ...chat, finish: null, done: false }),
): void => {
  const { promise: never } = Promise.withResolvers<string>();
  used.stub.script({
    kind: 'raw',
    chunks: (async function* () {
      yield begun;
      yield await never;
    })(),
  });
};

/** The prompt has 9 tokens by our own count. */
const end = (completionTokens: number): TextEvent[] => [
  { type: 'finish', reason: 'length' },
  { type: 'usage', usage: { promptTokens: 9, completionTokens, cachedTokens: null, reasoningTokens: null } },
];

it.each([
  ['content_filter: PROHIBITED_CONTENT', 'content_filter'],
  ['function_call_filter: MALFORMED_FUNCTION_CALL', 'content_filter'],
  ['sensitive', 'content_filter'],
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['eos_token', 'stop'],
])(
  'the reason %s, by which an upstream ends an answer early or in words of its own, is %s',
  async (finish, reason) => {
    used.stub.script({ ...shortChat, finish });
    expect(finishOf(await told(used.createText()))).toBe(reason);
  },
);

describe.each<[string, Partial<ProviderTimeouts>, () => { endsAt?: number }]>([
  ['the provider', { totalMs: limit }, () => ({})],
  ['the call', {}, () => ({ endsAt: performance.now() + limit })],
])('an answer that is not whole when the time of %s is over', (_whose, timeouts, more) => {
  const ask = (): Promise<TextEvent[]> => told(used.createText(timeouts), { ...request, ...more() });

  it('ends there, with the tokens that came', async () => {
    begin({ usage: null });
    expect(await ask()).toEqual([
      { type: 'content', text: 'Hello' },
      { type: 'content', text: ' world' },
      ...end(2),
    ]);
  });

  it('is counted by us, as an upstream tells the tokens at its end', async () => {
    begin({ usage: { prompt_tokens: 7, completion_tokens: 1 } });
    expect((await ask()).slice(2)).toEqual(end(2));
  });

  it('is counted by its transcript where it is spoken', async () => {
    const delta = { audio: { id: 'sound', data: 'AAAA', transcript: 'Hello world' } };
    begin({}, `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`);
    expect((await ask()).slice(1)).toEqual(end(2));
  });

  it('is told as cut off also where each chunk has a finish reason', async () => {
    const last = { choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }] };
    begin({ pieces: [] }, `data: ${JSON.stringify(last)}\n\n`.repeat(2));
    expect((await ask()).slice(2)).toEqual(end(2));
  });

  it('may end within the arguments of a call', async () => {
    begin({ pieces: [], toolCalls: [{ id: 'c', name: 'f', arguments: ['{"city":'] }], usage: null });
    expect(await ask()).toEqual([
      { type: 'tool_call', index: 0, id: 'c', name: 'f', arguments: '' },
      { type: 'tool_call', index: 0, arguments: '{"city":' },
      ...end(4),
    ]);
  });
});
