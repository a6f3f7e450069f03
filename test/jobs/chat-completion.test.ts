import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createChatAccumulator, toWireUsage } from '../../src/jobs/chat-completion.ts';
import { chargeFor, freezePrice, promptTokensUpperBound } from '../../src/jobs/chat-job.ts';
import { formatUsd, parseRate, parseUsd } from '../../src/money.ts';
import type { TextEvent } from '../../src/providers/text/text-provider.ts';

const usage = { promptTokens: 3, completionTokens: 4, cachedTokens: null, reasoningTokens: null };
const gather = (events: TextEvent[], isLegacyCall = false) => {
  const answer = createChatAccumulator({ isLegacyCall });
  for (const event of events) answer.add(event);
  return answer.complete();
};

describe('gathering an answer', () => {
  it('joins text in order', () => {
    const complete = gather([
      { type: 'content', text: 'Hel' },
      { type: 'content', text: 'lo' },
      { type: 'finish', reason: 'stop' },
      { type: 'usage', usage },
    ]);
    expect(complete?.message).toEqual({ role: 'assistant', content: 'Hello', refusal: null });
    expect(complete?.finishReason).toBe('stop');
  });

  it('joins tool calls by index, with null content', () => {
    const complete = gather([
      { type: 'tool_call', index: 1, id: 'b', name: 'second', arguments: '{}' },
      { type: 'tool_call', index: 0, id: 'a', name: 'first', arguments: '{"x"' },
      { type: 'tool_call', index: 0, arguments: ':1}' },
      { type: 'usage', usage },
      { type: 'finish', reason: 'tool_calls' },
    ]);
    expect(complete?.message).toMatchObject({
      content: null,
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'first', arguments: '{"x":1}' } },
        { id: 'b', type: 'function', function: { name: 'second', arguments: '{}' } },
      ],
    });
  });

  it('answers a legacy function call in its own member', () => {
    const complete = gather(
      [
        { type: 'tool_call', index: 0, id: 'a', name: 'f', arguments: '{}' },
        { type: 'finish', reason: 'function_call' },
        { type: 'usage', usage },
      ],
      true,
    );
    expect(complete?.message['function_call']).toEqual({ name: 'f', arguments: '{}' });
  });

  it('is not complete without finish and usage', () => {
    expect(gather([{ type: 'content', text: 'x' }])).toBeNull();
    expect(gather([{ type: 'finish', reason: 'stop' }])).toBeNull();
  });

  it('refuses an answer without an end', () => {
    const answer = createChatAccumulator({ isLegacyCall: false });
    const text = 'x'.repeat(1024 * 1024);
    expect(() => {
      for (let index = 0; index < 9; index += 1) answer.add({ type: 'content', text });
    }).toThrow(RangeError);
  });

  it('totals usage on the wire', () => {
    expect(toWireUsage(usage)).toMatchObject({ prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 });
  });
});

describe('the price of a chat', () => {
  const price = freezePrice({ unit: 'token', input: parseRate('1.05'), output: parseRate('6.30') });

  it('is what was used at the frozen rates', () => {
    expect(formatUsd(chargeFor(price, { promptTokens: 100, completionTokens: 10 }))).toBe('0.000168');
  });

  it('is the price of the call for a SKU priced by call', () => {
    const byCall = freezePrice({ unit: 'call', price: parseUsd('0.02') });
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
});
