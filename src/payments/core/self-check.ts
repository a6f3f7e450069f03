import type { PaymentNetwork } from './networks.ts';
import type { Facilitator } from './facilitator.ts';
import { RpcOutage, RpcRefusal, type JsonRpc } from './json-rpc.ts';

export interface SelfCheckOptions {
  network: PaymentNetwork;
  payTo: string;
  rpc: JsonRpc;
  timeoutMs: number;
}

const findFaults = async (
  { network, payTo, rpc, timeoutMs }: SelfCheckOptions,
  outer: AbortSignal,
): Promise<string[]> => {
  const signal = AbortSignal.any([outer, AbortSignal.timeout(timeoutMs)]);
  switch (network.family) {
    case 'evm': {
      const { createEvmChain } = await import('../evm/evm-chain.ts');
      const { findEvmFaults } = await import('../evm/evm-self-check.ts');
      return findEvmFaults(createEvmChain(rpc, signal), network);
    }
    case 'solana': {
      const { createSolanaChain } = await import('../solana/solana-chain.ts');
      const { findSolanaFaults } = await import('../solana/solana-self-check.ts');
      return findSolanaFaults(createSolanaChain(rpc, signal), { network, payTo });
    }
  }
};

/**
 * The same facilitator, out of the offer as long as the chain contradicts what is configured of it: nobody is to sign
 * what cannot be settled. The chain is asked until it agrees once; a node that does not answer says nothing.
 */
export const withSelfCheck = (facilitator: Facilitator, options: SelfCheckOptions): Facilitator => {
  let hasAgreed = false;
  let faults: string[] = [];
  const ask = async (signal: AbortSignal): Promise<void> => {
    try {
      faults = await findFaults(options, signal);
      hasAgreed = faults.length === 0;
    } catch (error) {
      // Whoever needs this node notices by himself that it does not answer.
      if (!(error instanceof RpcOutage || error instanceof RpcRefusal)) throw error;
    }
  };
  return {
    ...facilitator,
    supports: () => (faults.length > 0 ? 'unsupported' : facilitator.supports()),
    refresh: async (signal) => {
      const [health] = await Promise.all([facilitator.refresh(signal), hasAgreed ? null : ask(signal)]);
      return faults.length > 0 ? { ready: false, detail: faults.join('; ') } : health;
    },
  };
};
