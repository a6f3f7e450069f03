import fc from 'fast-check';
import { getAddress } from 'viem';
import { describe, expect, it } from 'vitest';
import { addressProblem } from '../../../src/payments/core/address-problem.ts';

const hex = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}` as const);

describe('a wallet that money is to be sent to', () => {
  it('passes with the checksum that viem writes, and in one case', () => {
    fc.assert(
      fc.property(hex, (address) => {
        fc.pre(!/^0x0+$/.test(address));
        expect(addressProblem('evm', getAddress(address))).toBeNull();
        expect(addressProblem('evm', address)).toBeNull();
      }),
    );
  });

  it('is refused with one character in the wrong case', () => {
    const right = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
    expect(addressProblem('evm', right)).toBeNull();
    expect(addressProblem('evm', right.replace('C', 'c'))).toMatch(/checksum/);
  });

  it('is refused when it is nobody', () => {
    expect(addressProblem('evm', `0x${'0'.repeat(40)}`)).toMatch(/zero/);
    expect(addressProblem('solana', 'z'.repeat(44))).toMatch(/32 bytes/);
    expect(addressProblem('solana', '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU')).toBeNull();
  });
});
