import { stat } from 'node:fs/promises';
import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkImage, decodeImage, withSharp } from '../../../src/providers/image/decode-image.ts';
import { makeBomb, makeImage } from '../../media/input-images.ts';
import { noAbort, rejectionOf } from '../collect.ts';

let png: Buffer;

beforeAll(async () => {
  png = await makeImage('png');
});

const options = (accountId?: string) => ({ signal: noAbort(), accountId });

/** Decoding that holds its turn until it is told to end. */
const holdTurn = async (accountId?: string): Promise<() => Promise<void>> => {
  const begun = Promise.withResolvers<void>();
  const told = Promise.withResolvers<void>();
  const holding = withSharp(() => {
    begun.resolve();
    return told.promise;
  }, options(accountId));
  await begun.promise;
  return async () => {
    told.resolve();
    await holding;
  };
};

describe('decoding', () => {
  it('has two turns in the whole process, so that threads are left for files', async () => {
    const ends = [await holdTurn(), await holdTurn()];
    const begun: string[] = [];
    const third = withSharp(async () => begun.push('third'), options());
    const checking = checkImage(png, options()).then((problem) => begun.push(`checked: ${problem}`));
    // The work of a turn that is free has begun before these files are read.
    for (let reads = 0; reads < 5; reads += 1) await stat('.');
    expect(begun).toEqual([]);
    for (const end of ends) await end();
    await Promise.all([checking, third]);
    expect(begun.toSorted()).toEqual(['checked: null', 'third']);
  });

  it('leaves a turn to others than the one that has most to decode', async () => {
    const end = await holdTurn('greedy');
    const order: string[] = [];
    const more = Array.from({ length: 8 }, () =>
      checkImage(png, options('greedy')).then(() => order.push('greedy')),
    );
    expect(await checkImage(png, options('modest'))).toBeNull();
    expect(order).toEqual([]);
    await end();
    await Promise.all(more);
    expect(order).toHaveLength(8);
  });

  it('has one turn for large images, beside which small ones go on', async () => {
    const large = makeBomb(5_000, 5_000);
    const begun = Promise.withResolvers<void>();
    const told = Promise.withResolvers<void>();
    const order: string[] = [];
    const first = decodeImage(
      large,
      async () => {
        begun.resolve();
        await told.promise;
        order.push('first');
      },
      options('a'),
    );
    await begun.promise;
    const second = checkImage(large, options('b')).then(() => order.push('second'));
    expect(await checkImage(png, options('c'))).toBeNull();
    expect(await checkImage(png, options('b'))).toBeNull();
    told.resolve();
    await Promise.all([first, second]);
    expect(order).toEqual(['first', 'second']);
  });

  it('tells an image that was not decoded in time from a broken one', async () => {
    const picture = await sharp(makeBomb(3_000, 3_000)).toColourspace('srgb').png().toBuffer();
    const endless = decodeImage(
      picture,
      (image) => image.timeout({ seconds: 1 }).median(99).toBuffer(),
      options(),
    );
    expect(await rejectionOf(endless)).toMatchObject({ name: 'ImageError', problem: 'too_slow' });
    const broken = decodeImage(png.subarray(0, 60), (image) => image.toBuffer(), options());
    expect(await rejectionOf(broken)).toMatchObject({ name: 'ImageError', problem: 'undecodable' });
  });
});
