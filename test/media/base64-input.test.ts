import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBase64 } from '../../src/media/data-uri.ts';

/** Four letters at a time, the last ones padded, and no spare bits. */
const isProper = (text: string): boolean =>
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/.test(text);

describe('a base64 text', () => {
  it('gives the bytes that were written', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        const text = Buffer.from(bytes).toString('base64');
        expect((await decodeBase64(text))?.equals(bytes)).toBe(true);
      }),
    );
  });

  it('is accepted only if it is valid', async () => {
    const letters = fc.string({
      unit: fc.constantFrom(...Array.from('AQgZz09+/=-_ \n!é\u0141\u{1F600}')),
      maxLength: 14,
    });
    await fc.assert(
      fc.asyncProperty(letters, async (text) => {
        expect((await decodeBase64(text)) !== null).toBe(isProper(text));
      }),
      { numRuns: 20_000 },
    );
  });

  it('is decoded completely if it is long, and refused if one letter is wrong', async () => {
    const bytes = Buffer.alloc(3_200_001, 'Causeway');
    const text = bytes.toString('base64');
    expect((await decodeBase64(text))?.equals(bytes)).toBe(true);
    for (const at of [0, 2 ** 21 - 1, 2 ** 21, 3_000_000, text.length - 3])
      expect(await decodeBase64(`${text.slice(0, at)}!${text.slice(at + 1)}`)).toBeNull();
  });

  it('has padding at its end only, also where it is cut for decoding', async () => {
    const piece = `${'A'.repeat(2 ** 21 - 4)}AAA=`;
    expect(await decodeBase64(piece)).toHaveLength((2 ** 21 / 4) * 3 - 1);
    expect(await decodeBase64(`${piece}AAAA`)).toBeNull();
  });
});
