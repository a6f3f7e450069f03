import * as fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import {
  createTokenCounter,
  sliceText,
  wholeTextLength,
} from '../../../src/providers/tokens/token-counter.ts';
import { noAbort } from '../collect.ts';

const counter = createTokenCounter({ log: silentLog });
afterAll(() => counter.close());

const count = async (text: string): Promise<number> => (await counter.count([text], noAbort()))[0] ?? -1;

describe('a token counter', () => {
  it('counts as the tokenizer does', async () => {
    const texts = ['', 'Hello world', 'naïve café', '日本語のテキスト', '🌍🚀', '<|endoftext|>'];
    const plainText = { disallowedSpecial: new Set<string>() };
    expect(await counter.count(texts, noAbort())).toEqual(texts.map((text) => countTokens(text, plainText)));
  });

  it('adds at most one token for each 512 characters of a long text', async () => {
    const text = 'The quick brown fox jumps over thirteen lazy dogs. '.repeat(400);
    const exact = countTokens(text);
    const counted = await count(text);
    expect(counted).toBeGreaterThanOrEqual(exact - 1);
    expect(counted).toBeLessThanOrEqual(exact + Math.ceil(text.length / 512));
  });

  it('estimates a very long text within two per cent', async () => {
    const sentence = 'The quick brown fox jumps over thirteen lazy dogs. ';
    const counted = await count(sentence.repeat(40_000));
    const exact = countTokens(sentence.repeat(100)) * 400;
    expect(Math.abs(counted - exact) / exact).toBeLessThan(0.02);
  });

  it('never counts more tokens than bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 2_000 }), async (text) => {
        expect(await count(text)).toBeLessThanOrEqual(Buffer.byteLength(text));
      }),
      { numRuns: 50 },
    );
    const twoScripts = ('漢'.repeat(512) + 'a '.repeat(600)).repeat(200);
    expect(await count(twoScripts)).toBeLessThanOrEqual(Buffer.byteLength(twoScripts));
  });

  it('leaves the event loop free while it counts', async () => {
    await count('warm');
    // Text without breaks is the slowest to encode: this takes the thread a good part of a second.
    const text = Array.from({ length: wholeTextLength }, (_, index) => {
      return String.fromCharCode(0x4e00 + ((index * 7_919) % 20_000));
    }).join('');
    expect(await turnsUntil(count(text))).toBeGreaterThan(1);
  });
});

/** How often the event loop goes round before a promise is settled. */
const turnsUntil = async (promise: Promise<unknown>): Promise<number> => {
  const turn = (): Promise<'turn'> => new Promise((resolve) => setImmediate(resolve, 'turn'));
  let turns = 0;
  while ((await Promise.race([promise, turn()])) === 'turn') turns += 1;
  return turns;
};

describe('slices of a text', () => {
  it('are the text, without a surrogate pair cut in two', () => {
    const unit = fc.constantFrom('a', '🌍', '漢', '\ud83d', ' ');
    const text = fc.array(unit, { maxLength: 3_000 }).map((units) => units.join(''));
    fc.assert(
      fc.property(text, (whole) => {
        const { slices, scale } = sliceText(whole);
        expect(slices.join('')).toBe(whole);
        expect(scale).toBe(1);
        expect(slices.every((slice) => slice.length <= 513)).toBe(true);
        const bytes = slices.reduce((sum, slice) => sum + Buffer.byteLength(slice), 0);
        expect(bytes).toBe(Buffer.byteLength(whole));
      }),
    );
  });

  it('are a sample of bounded size when the text is long', () => {
    const { slices, scale } = sliceText('x'.repeat(wholeTextLength * 10));
    expect(slices.join('').length).toBe(wholeTextLength);
    expect(scale).toBe(10);
  });
});
