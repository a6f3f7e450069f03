import fc from 'fast-check';
import { getAddress } from 'viem';
import { describe, expect, it } from 'vitest';
import { evmFamily } from '../../../../src/payments/chains/evm/evm-family.ts';
import { solanaFamily } from '../../../../src/payments/chains/solana/solana-family.ts';

const hex = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}` as const);

describe('a wallet that money is to be sent to', () => {
  it('passes with the checksum that viem writes, and in one case', () => {
    fc.assert(
      fc.property(hex, (address) => {
        fc.pre(!/^0x0+$/.test(address));
        expect(evmFamily.addressProblem(getAddress(address))).toBeNull();
        expect(evmFamily.addressProblem(address)).toBeNull();
      }),
    );
  });

  it('is refused with one character in the wrong case', () => {
    const right = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
    expect(evmFamily.addressProblem(right)).toBeNull();
    expect(evmFamily.addressProblem(right.replace('C', 'c'))).toMatch(/checksum/);
  });

  it('is refused when it is nobody', () => {
    expect(evmFamily.addressProblem(`0x${'0'.repeat(40)}`)).toMatch(/zero/);
    expect(solanaFamily.addressProblem('z'.repeat(44))).toMatch(/32 bytes/);
    expect(solanaFamily.addressProblem('4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU')).toBeNull();
  });
});
