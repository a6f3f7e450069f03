import { expect, it } from 'vitest';
import type { EvmChain, EvmReceipt } from '../../../../src/payments/chains/evm/evm-chain.ts';
import { waitForEvmReceipt } from '../../../../src/payments/chains/evm/evm-signer.ts';

it('finds the receipt of the first transaction while the node refuses to look for its replacement', async () => {
  const receipt = { status: 'success' } as unknown as EvmReceipt;
  const chain = {
    getReceipt: async (transaction: string) => {
      if (transaction === '0xreplacement') throw new Error('the node does not know it');
      return receipt;
    },
  } as unknown as EvmChain;
  const signal = AbortSignal.timeout(5_000);
  expect(await waitForEvmReceipt(chain, ['0xreplacement', '0xfirst'], signal)).toEqual({
    transaction: '0xfirst',
    receipt,
  });
});
