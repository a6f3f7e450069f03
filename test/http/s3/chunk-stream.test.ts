import fc from 'fast-check';
import { expect, it } from 'vitest';
import { chunkStream } from '../../../src/http/s3/chunk-stream.ts';

const signal = new AbortController().signal;

it('parts have one size except the last, are never empty, and together equal the source', async () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(chunks, fc.integer({ min: 1, max: 17 }), async (given, partBytes) => {
      const whole = Buffer.concat(given);
      const stream = async function* (): AsyncGenerator<Uint8Array> {
        yield* given;
      };
      for (const source of [stream(), new Uint8Array(whole)]) {
        const parts = await Array.fromAsync(chunkStream(source, { partBytes, signal }));
        expect(Buffer.concat(parts).equals(whole)).toBe(true);
        expect(parts.slice(0, -1).every((part) => part.byteLength === partBytes)).toBe(true);
        expect(parts.every((part) => part.byteLength > 0 && part.byteLength <= partBytes)).toBe(true);
      }
    }),
  );
});
