import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compressionOf, decompress } from '../../../src/leads/import/decompress.ts';

/** In pieces, each a turn of the event loop after the one before, as from a disk. */
async function* slowPieces(content: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += size) {
    await new Promise((resolve) => setImmediate(resolve));
    yield content.subarray(at, at + size);
  }
}

const unpack = async (content: Buffer, compression: 'gzip' | 'zstd', size = 1000): Promise<Buffer> => {
  const { signal } = new AbortController();
  const blocks: Buffer[] = [];
  for await (const block of decompress(slowPieces(content, size), { file: 'a.gz', compression, signal }))
    blocks.push(block);
  return Buffer.concat(blocks);
};

/** As the zstd program packs by default. */
const withChecksum = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
const packers = {
  gzip: (content: Uint8Array) => gzipSync(content),
  zstd: (content: Uint8Array) => zstdCompressSync(content, withChecksum),
} as const;

describe.each(['gzip', 'zstd'] as const)('%s', (compression) => {
  const pack = packers[compression];
  const packed = pack(Buffer.from('one two three '.repeat(1000)));

  it('is detected by its first bytes', () => {
    expect(compressionOf(packed)).toBe(compression);
    expect(compressionOf(Buffer.from('username,followers'))).toBeNull();
    expect(compressionOf(Buffer.alloc(0))).toBeNull();
  });

  it('ends with the reason of its signal also within one stored block', async () => {
    const aborting = new AbortController();
    const stored = (async function* () {
      yield pack(Buffer.alloc(2_000_000));
    })();
    const blocks = decompress(stored, { file: 'a.gz', compression, signal: aborting.signal });
    await blocks.next();
    aborting.abort(new Error('enough'));
    await expect(blocks.next()).rejects.toThrow('enough');
  });

  it('is decompressed completely, with any number of concatenated parts and any split of the bytes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 3000 }), { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 4000 }),
        async (parts, size) => {
          const content = Buffer.concat(parts.map((part) => pack(part)));
          expect(
            (await unpack(content, compression, Math.max(size, content.length >> 6))).equals(
              Buffer.concat(parts),
            ),
          ).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('is refused with the reason if any part ends too early', async () => {
    await expect(unpack(packed.subarray(0, -1), compression)).rejects.toThrow(
      /^a\.gz ends in the middle of its/,
    );
    await expect(unpack(Buffer.concat([packed, packed.subarray(0, -1)]), compression)).rejects.toThrow(
      /in the middle/,
    );
  });

  it('is refused with the reason if it is damaged or followed by other data', async () => {
    const damaged = Buffer.from(pack(Buffer.from(Array.from({ length: 9000 }, (_, index) => index % 251))));
    damaged.fill(0x55, 40, 80);
    await expect(unpack(damaged, compression)).rejects.toThrow(/^a\.gz is damaged/);
    await expect(unpack(Buffer.concat([packed, Buffer.from('x'.repeat(99))]), compression)).rejects.toThrow(
      /is damaged/,
    );
  });
});

it('skippable zstd frames are skipped', async () => {
  const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]);
  const content = Buffer.concat([skippable, zstdCompressSync('a'), skippable, zstdCompressSync('b')]);
  expect(compressionOf(content)).toBe('zstd');
  expect((await unpack(content, 'zstd', 7)).toString()).toBe('ab');
});
