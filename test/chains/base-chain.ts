import type { Address, Hex } from 'viem';
import { startEvmNode, type EvmNode } from './evm-node.ts';
import { localEvmKeys } from './local-keys.ts';
import { readPermit2Contracts } from './permit2-code.ts';

export interface BaseChain extends EvmNode {
  network: 'eip155:84532';
  buyer: { address: Address; privateKey: Hex };
  /** Has ETH for gas. */
  facilitator: { address: Address; privateKey: Hex };
  seller: { address: Address };
}

const { facilitator, buyer, seller } = localEvmKeys;

const chainId = 84_532;

/** Base Sepolia in small: an EVM node of its chain id, with real USDC at its address there, and Permit2. */
export const startBaseChain = async ({ port = 0 }: { port?: number } = {}): Promise<BaseChain> => {
  const node = await startEvmNode({
    chainId,
    name: 'Local Base Sepolia',
    token: { address: '0x036CbD53842c5426634e7929541eC2318f3dCF7e', decimals: 6 },
    codes: await readPermit2Contracts(chainId),
    port,
  });
  return { ...node, network: 'eip155:84532', buyer, facilitator, seller };
};
