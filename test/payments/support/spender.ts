import { createTestClient, createWalletClient, http, parseAbi, type Address, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';
import type { Chains } from '../../chains/start-chains.ts';
import { createBuyer, type Buyer } from './buyer.ts';

/** A buyer who can also spend his USDC in other ways. */
export interface Spender {
  address: Address;
  privateKey: Hex;
  buyer: Buyer;
  /** Pays all that he was given to somebody else, ahead of all that waits in the pool. */
  spendAll(): Promise<Hex>;
}

/** On Base, with so much USDC and enough for gas. */
export const createSpender = async (chains: Chains, amount: bigint): Promise<Spender> => {
  const { base } = chains;
  const privateKey = generatePrivateKey();
  const account = privateKeyToAccount(privateKey);
  const options = { chain: baseSepolia, transport: http(base.rpcUrl) };
  await base.mint(account.address, amount);
  await createTestClient({ ...options, mode: 'anvil' }).setBalance({
    address: account.address,
    value: 10n ** 18n,
  });
  return {
    address: account.address,
    privateKey,
    buyer: await createBuyer({
      ...chains,
      base: { ...base, buyer: { address: account.address, privateKey } },
    }),
    spendAll: () =>
      createWalletClient({ ...options, account }).writeContract({
        address: base.usdc,
        abi: parseAbi(['function transfer(address to, uint256 value)']),
        functionName: 'transfer',
        args: [base.buyer.address, amount],
        gas: 200_000n,
        maxPriorityFeePerGas: 50_000_000_000n,
        maxFeePerGas: 100_000_000_000n,
      }),
  };
};
