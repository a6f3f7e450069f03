import { getBase58Decoder } from '@solana/kit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBase58, encodeBase58 } from '../../../../src/payments/chains/solana/base58.ts';

describe('base58', () => {
  it('is what Solana writes, and reads back', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const text = encodeBase58(bytes);
        expect(text).toBe(getBase58Decoder().decode(bytes));
        expect(decodeBase58(text)).toEqual(Uint8Array.from(bytes));
      }),
    );
  });

  it('is nothing else', () => {
    expect(decodeBase58('0OIl')).toBeNull();
    expect(decodeBase58('2'.repeat(129))).toBeNull();
  });
});
