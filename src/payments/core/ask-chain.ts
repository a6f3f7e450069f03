import type { PaymentNetwork } from './networks.ts';
import { createEvmChain } from '../evm/evm-chain.ts';
import type { BegunPayment, FoundOutcome } from './facilitator.ts';
import type { JsonRpc } from './json-rpc.ts';
import { createSolanaChain } from '../solana/solana-chain.ts';

interface ChainQuestion {
  network: PaymentNetwork;
  rpc: JsonRpc;
  signal: AbortSignal;
  /** Epoch milliseconds. */
  now: number;
}

const ask = async (begun: BegunPayment, { rpc, signal, now }: ChainQuestion): Promise<FoundOutcome> => {
  const {
    payload: { payload },
    requirements,
    transaction,
  } = begun;
  if (!('transaction' in payload)) {
    const { findEvmOutcome } = await import('../evm/evm-outcome.ts');
    return findEvmOutcome(createEvmChain(rpc, signal), { payload, requirements }, transaction);
  }
  const { findSolanaPayment } = await import('../solana/find-solana-payment.ts');
  return findSolanaPayment(createSolanaChain(rpc, signal), begun, { ownSignature: null, now });
};

/** What the chain itself says of a payment that somebody else settles; unknown when it does not answer. */
export const askChain = async (payment: BegunPayment, question: ChainQuestion): Promise<FoundOutcome> => {
  try {
    return await ask(payment, question);
  } catch {
    return { outcome: 'unknown', reason: 'rpc_unavailable' };
  }
};
