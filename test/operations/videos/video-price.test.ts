import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import { billedSeconds, durationOf, priceVideo } from '../../../src/operations/videos/create-video.ts';

const seconds = fc.integer({ min: 4, max: 30 });
const clips = fc.array(fc.double({ min: 0.5, max: 120, noNaN: true }), { minLength: 1, maxLength: 3 });

describe('the seconds that a video is billed', () => {
  it('are its length without reference videos', () => {
    fc.assert(
      fc.property(seconds, (durationSeconds) => {
        expect(billedSeconds({ durationSeconds, referenceSeconds: [] })).toBe(durationSeconds);
      }),
    );
  });

  it('are never below 5/3 of its length, nor below both lengths together, with reference videos', () => {
    fc.assert(
      fc.property(seconds, clips, (durationSeconds, referenceSeconds) => {
        const billed = billedSeconds({ durationSeconds, referenceSeconds });
        const total = referenceSeconds.reduce((sum, clip) => sum + clip, 0);
        expect(Number.isInteger(billed)).toBe(true);
        expect(billed * 3).toBeGreaterThanOrEqual(durationSeconds * 5);
        expect(billed).toBeGreaterThanOrEqual(durationSeconds + total - 0.001);
        expect(billed).toBeLessThan(Math.max(durationSeconds + total + 1, (durationSeconds * 5) / 3 + 1));
      }),
    );
  });

  it.each([
    { durationSeconds: 5, referenceSeconds: [2.1], billed: 9 },
    { durationSeconds: 15, referenceSeconds: [4], billed: 25 },
    { durationSeconds: 6, referenceSeconds: [4.0004], billed: 10 },
    { durationSeconds: 6, referenceSeconds: [2.5, 2.4], billed: 11 },
    { durationSeconds: -1, referenceSeconds: [7.2], billed: 8 },
  ])('are $billed for $durationSeconds s and clips of $referenceSeconds s', ({ billed, ...order }) => {
    expect(billedSeconds(order)).toBe(billed);
  });
});

describe('the price of a video', () => {
  const price = {
    unit: 'second' as const,
    rates: [
      { resolution: '720p' as const, price: parseUsd('0.04'), withVideoPrice: parseUsd('0.024') },
      { resolution: '4k' as const, price: parseUsd('0.2'), withVideoPrice: null },
    ],
  };

  it('is the rate of its resolution times its seconds, at the other rate with reference videos', () => {
    expect(priceVideo(price, { durationSeconds: 5, resolution: '720p', referenceSeconds: [] })).toEqual({
      price: parseUsd('0.2'),
      seconds: 5,
    });
    expect(priceVideo(price, { durationSeconds: 5, resolution: '720p', referenceSeconds: [4] })).toEqual({
      price: parseUsd('0.216'),
      seconds: 9,
    });
  });

  it('is refused where there is no rate, never free', () => {
    const refusal = expect.objectContaining({ code: 'invalid_parameter', param: 'resolution' });
    const order = { durationSeconds: 5, referenceSeconds: [] };
    expect(() => priceVideo(price, { ...order, resolution: '1080p' })).toThrow(refusal);
    expect(() => priceVideo(price, { ...order, resolution: '4k', referenceSeconds: [4] })).toThrow(refusal);
  });
});

describe('the length of a video', () => {
  const short = { minimum: 4, maximum: 15, initial: 5, edits: false };
  const long = { minimum: 4, maximum: 30, initial: null, edits: true };

  it('is the default of the SKU, or must be named', () => {
    expect(durationOf(short, null, false)).toBe(5);
    expect(() => durationOf(long, null, false)).toThrow(AppError);
  });

  it('is taken within the rule of the SKU only', () => {
    for (const asked of [3, 16, 0, -1, -2]) expect(() => durationOf(short, asked, true)).toThrow(AppError);
    for (const asked of [4, 15]) expect(durationOf(short, asked, false)).toBe(asked);
    for (const asked of [3, 31, -2]) expect(() => durationOf(long, asked, true)).toThrow(AppError);
  });

  it('is -1 for an edit of a reference video only', () => {
    expect(durationOf(long, -1, true)).toBe(-1);
    expect(() => durationOf(long, -1, false)).toThrow(AppError);
  });
});
