import type { PaymentNetwork } from '../networks.ts';
import { createEvmChain } from './evm-chain.ts';
import type { BegunPayment, FoundOutcome } from './facilitator.ts';
import type { JsonRpc } from './json-rpc.ts';
import { createSolanaChain } from './solana-chain.ts';

interface ChainQuestion {
  network: PaymentNetwork;
  rpc: JsonRpc;
  signal: AbortSignal;
  /** Epoch milliseconds. */
  now: number;
}

const ask = async (
  { payload: { payload }, requirements, transaction, createdAt }: BegunPayment,
  { rpc, signal, now }: ChainQuestion,
): Promise<FoundOutcome> => {
  if (!('transaction' in payload)) {
    const { findEvmOutcome } = await import('./evm-outcome.ts');
    return findEvmOutcome(createEvmChain(rpc, signal), { payload, requirements }, transaction);
  }
  const chain = createSolanaChain(rpc, signal);
  const { findSolanaOutcome } = await import('./solana-outcome.ts');
  const { findSolanaSignature } = await import('./solana-search.ts');
  const { readSolanaTransaction } = await import('../solana-transaction.ts');
  const signature =
    transaction ?? (await findSolanaSignature(chain, { transaction: payload.transaction, createdAt }));
  const { blockhash } = readSolanaTransaction(payload.transaction);
  return findSolanaOutcome(chain, {
    signature,
    blockhash,
    network: requirements.network,
    ageMs: now - createdAt,
  });
};

/** What the chain itself says of a payment that somebody else settles; unknown when it does not answer. */
export const askChain = async (payment: BegunPayment, question: ChainQuestion): Promise<FoundOutcome> => {
  try {
    return await ask(payment, question);
  } catch {
    return { outcome: 'unknown', reason: 'rpc_unavailable' };
  }
};
