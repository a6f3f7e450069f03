import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobEvent } from '../../../src/jobs/executor.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { formatUsd, parseRate, parseUsd } from '../../../src/kit/money.ts';
import { createChatAnswer, createRunChat, toWireUsage } from '../../../src/operations/chat/run-chat.ts';
import type { TextEvent } from '../../../src/providers/text/text-provider.ts';
import type { Job } from '../../../src/store/store.ts';
import { responsesJob } from '../responses/responses-job.ts';
import { chargeFor, promptTokensUpperBound } from '../../../src/operations/chat/text-job.ts';

const chatJob: Job = { ...responsesJob, kind: 'chat' };
const usage = { promptTokens: 3, completionTokens: 4, cachedTokens: null, reasoningTokens: null };
const gather = (pieces: JobEvent[], isLegacyCall = false) => {
  const answer = createChatAnswer({ isLegacyCall });
  for (const piece of pieces) answer.add(piece);
  return answer.message();
};

/** Runs a chat job whose upstream answers these events. `onAsked` gets the time at which its answer must end. */
const run = (events: TextEvent[], job = chatJob, onAsked = (_endsAt?: number): void => undefined) =>
  createRunChat({
    costOf: () => null,
    routesFor: () => ({
      answer: async ({ endsAt }, { emit }) => {
        onAsked(endsAt);
        events.forEach(emit);
      },
    }),
    log: silentLog,
  })(job, {
    work: {
      messages: [],
      options: {},
      isWhole: true,
      maxOutputTokens: 9,
      price: { unit: 'call', price: 0n },
      conversationId: null,
    },
    isQueued: false,
    signal: new AbortController().signal,
    emit: () => undefined,
    served: () => undefined,
    record: () => Promise.resolve(),
  });

describe('gathering an answer', () => {
  it('joins text in order', () => {
    const message = gather([
      { type: 'content', text: 'Hel' },
      { type: 'content', text: 'lo' },
    ]);
    expect(message).toEqual({ role: 'assistant', content: 'Hello', refusal: null });
  });

  it('joins tool calls by index, with null content', () => {
    const message = gather([
      { type: 'tool_call', index: 1, id: 'b', name: 'second', arguments: '{}' },
      { type: 'tool_call', index: 0, id: 'a', name: 'first', arguments: '{"x"' },
      { type: 'tool_call', index: 0, arguments: ':1}' },
    ]);
    expect(message).toMatchObject({
      content: null,
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'first', arguments: '{"x":1}' } },
        { id: 'b', type: 'function', function: { name: 'second', arguments: '{}' } },
      ],
    });
  });

  it('answers a legacy function call in its own member', () => {
    const message = gather([{ type: 'tool_call', index: 0, id: 'a', name: 'f', arguments: '{}' }], true);
    expect(message['function_call']).toEqual({ name: 'f', arguments: '{}' });
  });

  it('needs finish and usage, in any order', async () => {
    await expect(run([{ type: 'content', text: 'x' }])).rejects.toThrow('without finish and usage');
    await expect(run([{ type: 'finish', reason: 'stop' }])).rejects.toThrow('without finish and usage');
    await expect(
      run([
        { type: 'usage', usage },
        { type: 'finish', reason: 'length' },
      ]),
    ).resolves.toMatchObject({ result: { choices: [{ finish_reason: 'length' }] } });
  });

  it('ends by the deadline of its job where a payment waits for what it costs', async () => {
    const whole: TextEvent[] = [
      { type: 'usage', usage },
      { type: 'finish', reason: 'stop' },
    ];
    const job = { ...chatJob, deadlineAt: chatJob.createdAt + 300_000 };
    const endOf = async (unpaidBy: string | null): Promise<number> => {
      const asked = Promise.withResolvers<number>();
      await run(whole, { ...job, unpaidBy }, (endsAt = Infinity) => asked.resolve(endsAt));
      return asked.promise;
    };
    const before = performance.now();
    expect(await endOf(null)).toBe(Infinity);
    const end = await endOf('payment');
    expect(end).toBeGreaterThanOrEqual(before + 300_000);
    expect(end).toBeLessThanOrEqual(performance.now() + 300_000);
  });

  it('refuses an answer without an end', () => {
    const answer = createChatAnswer({ isLegacyCall: false });
    const text = 'x'.repeat(1024 * 1024);
    expect(() => {
      for (let index = 0; index < 9; index += 1) answer.add({ type: 'content', text });
    }).toThrow(RangeError);
  });

  it('keeps what comes beside the words up to a length, and the words whole', () => {
    const answer = createChatAnswer({ isLegacyCall: false });
    const token = { token: 'x'.repeat(1024 * 1024), logprob: 0, bytes: null, top_logprobs: [] };
    const piece = {
      type: 'content' as const,
      text: 'x',
      extras: { logprobs: { content: [token], refusal: [] } },
    };
    const kept = Array.from({ length: 9 }, () => answer.add(piece));
    const isWhole = kept.map((event) => event === piece);
    expect(isWhole.indexOf(false)).toBe(7);
    expect(kept.slice(7)).toEqual([
      { type: 'content', text: 'x' },
      { type: 'content', text: 'x' },
    ]);
    const late = { type: 'content' as const, text: '', extras: { annotations: [{ type: 'late' }] } };
    expect(answer.add(late)).toEqual({ type: 'content', text: '' });
    expect(answer.message()).toEqual({ role: 'assistant', content: 'x'.repeat(9), refusal: null });
    expect(answer.logprobs()).toEqual({ content: Array.from({ length: 7 }, () => token), refusal: null });
  });

  it('has null content when it was spoken alone, and joins sound by its bytes', () => {
    const message = gather([
      { type: 'content', text: '', extras: { audio: { id: 'a', data: 'YQ==' } } },
      { type: 'content', text: '', extras: { audio: { data: 'Yg==', transcript: 'ab', expires_at: 9 } } },
    ]);
    expect(message).toEqual({
      role: 'assistant',
      content: null,
      refusal: null,
      audio: { id: 'a', data: 'YWI=', transcript: 'ab', expires_at: 9 },
    });
  });

  it('totals usage on the wire, with null for what was not told', () => {
    expect(toWireUsage(usage)).toEqual({
      prompt_tokens: 3,
      completion_tokens: 4,
      total_tokens: 7,
      prompt_tokens_details: { cached_tokens: null, audio_tokens: null },
      completion_tokens_details: {
        reasoning_tokens: null,
        audio_tokens: null,
        accepted_prediction_tokens: null,
        rejected_prediction_tokens: null,
      },
    });
  });
});

describe('the price of a chat', () => {
  const price = { unit: 'token', input: parseRate('1.05'), output: parseRate('6.30') } as const;

  it('is what was used at its rates', () => {
    expect(formatUsd(chargeFor(price, { promptTokens: 100, completionTokens: 10 }))).toBe('0.000168');
  });

  it('is the price of the call for a SKU priced by call', () => {
    const byCall = { unit: 'call', price: parseUsd('0.02') } as const;
    expect(chargeFor(byCall, { promptTokens: 10 ** 6, completionTokens: 0 })).toBe(parseUsd('0.02'));
  });

  it('holds at least a token for every byte of the prompt', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), (texts) => {
        const messages = texts.map((content) => ({ role: 'user' as const, content }));
        const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
        expect(promptTokensUpperBound({ messages, options: {} }, 1000)).toBeGreaterThanOrEqual(bytes);
      }),
    );
  });

  it('counts every byte that goes upstream, wherever it stands', () => {
    const big = 'x'.repeat(10_000);
    const call = { type: 'image_url', image_url: { url: big }, function: { name: 'f', arguments: big } };
    const inToolCalls = [{ role: 'assistant' as const, content: null, tool_calls: [call] }];
    expect(promptTokensUpperBound({ messages: inToolCalls, options: {} }, 10)).toBeGreaterThan(20_000);
    const options = { prediction: { content: big }, tool_choice: { function: { name: big } } };
    expect(promptTokensUpperBound({ messages: [], options }, 10)).toBeGreaterThan(20_000);
  });

  it('counts a picture by its fixed bound, not by its bytes', () => {
    const url = `data:image/png;base64,${'A'.repeat(100_000)}`;
    const messages = [{ role: 'user' as const, content: [{ type: 'image_url', image_url: { url } }] }];
    expect(promptTokensUpperBound({ messages, options: {} }, 1000)).toBeLessThan(2000);
  });

  it('counts a long sound by its length, and a short one by its fixed bound', () => {
    const bound = (length: number) => {
      const input_audio = { data: 'A'.repeat(length), format: 'mp3' };
      const content = [{ type: 'input_audio', input_audio }];
      return promptTokensUpperBound({ messages: [{ role: 'user', content }], options: {} }, 1000);
    };
    expect(bound(100)).toBe(bound(10_000));
    // Ten minutes at 6 kbit/s, in base64, of a model that counts 32 tokens a second.
    expect(bound((10 * 60 * 750 * 4) / 3)).toBeGreaterThanOrEqual(10 * 60 * 32);
  });
});
