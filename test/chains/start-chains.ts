import type { BaseChain } from './base-chain.ts';
import type { SolanaChain } from './solana-chain.ts';

export interface ChainsOptions {
  /** The RPC's port; 0 (the default) takes a free one. */
  basePort?: number;
  solanaPort?: number;
}

/** Both local chains, and what a gateway must be told to use them. */
export interface Chains {
  base: BaseChain;
  solana: SolanaChain;
  /** The settings of src/config/config.ts for in-process facilitators on both chains. */
  environment: Record<string, string>;
  stop: () => Promise<void>;
}

const environmentOf = (base: BaseChain, solana: SolanaChain): Record<string, string> => ({
  X402_NETWORKS: `${base.network},${solana.network}`,
  X402_EVM_PAY_TO: base.seller.address,
  X402_EVM_RPC_URL: base.rpcUrl,
  X402_EVM_FACILITATOR_KEY: base.facilitator.privateKey,
  X402_SOLANA_PAY_TO: solana.seller.address,
  X402_SOLANA_RPC_URL: solana.rpcUrl,
  X402_SOLANA_FACILITATOR_KEY: solana.facilitator.secretKeyBase58,
});

const startBase = async (port: number): Promise<BaseChain> => {
  const { startBaseChain } = await import('./base-chain.ts');
  return startBaseChain({ port });
};

const startSolana = async (port: number): Promise<SolanaChain> => {
  const { startSolanaChain } = await import('./solana-chain.ts');
  return startSolanaChain({ port });
};

/** Starts both chains, with nobody owning USDC yet. What was started is stopped again if either fails. */
export const startChains = async (options: ChainsOptions = {}): Promise<Chains> => {
  const starting = [startBase(options.basePort ?? 0), startSolana(options.solanaPort ?? 0)] as const;
  let chains: [BaseChain, SolanaChain];
  try {
    chains = await Promise.all(starting);
  } catch (error) {
    const outcomes = await Promise.allSettled(starting);
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') await outcome.value.stop();
    throw error;
  }
  const [base, solana] = chains;
  return {
    base,
    solana,
    environment: environmentOf(base, solana),
    stop: async () => {
      await Promise.all([base.stop(), solana.stop()]);
    },
  };
};
