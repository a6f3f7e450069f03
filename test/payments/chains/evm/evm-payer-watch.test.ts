import { expect, it } from 'vitest';
import { createEvmChain } from '../../../../src/payments/chains/evm/evm-chain.ts';
import { createContractPayers, watchPayer } from '../../../../src/payments/chains/evm/evm-payer-watch.ts';

it('a settlement that ends before the node tells of the payer’s code keeps no part of the budget', async () => {
  const contractPayers = createContractPayers({ now: () => 0 });
  const signal = new AbortController().signal;
  const authorization = { payer: '0x01', method: 'eip3009' } as const;
  for (let settlement = 0; settlement < 30; settlement += 1) {
    const code = Promise.withResolvers<string>();
    const chain = createEvmChain({ request: () => code.promise }, signal);
    const watch = watchPayer({ authorization, chain, contractPayers });
    const reading = watch.readMaxGas();
    watch.end();
    code.resolve('0x60');
    await expect(reading).rejects.toThrow('payers with code have to wait');
  }
  expect(contractPayers.hasBudget()).toBe(true);
});
