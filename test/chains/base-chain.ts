import type { Address, Hex } from 'viem';
import { startEvmNode, type EvmNode } from './evm-node.ts';
import { localEvmKeys } from './local-keys.ts';

export interface BaseChain extends EvmNode {
  network: 'eip155:84532';
  buyer: { address: Address; privateKey: Hex };
  /** Has ETH for gas. */
  facilitator: { address: Address; privateKey: Hex };
  seller: { address: Address };
}

const { facilitator, buyer, seller } = localEvmKeys;

/** Base Sepolia in small: an EVM node of its chain id, with real USDC at its address there. */
export const startBaseChain = async ({ port = 0 }: { port?: number } = {}): Promise<BaseChain> => {
  const node = await startEvmNode({
    chainId: 84_532,
    name: 'Local Base Sepolia',
    token: { address: '0x036CbD53842c5426634e7929541eC2318f3dCF7e', decimals: 6 },
    port,
  });
  return { ...node, network: 'eip155:84532', buyer, facilitator, seller };
};
