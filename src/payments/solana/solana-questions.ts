import { blockhash as toBlockhash, type Blockhash } from '@solana/kit';
import { z } from 'zod';
import { askWithin, RpcRefusal, type JsonRpc } from '../core/json-rpc.ts';

export interface TransferStatus {
  /** `finalized`: no fork can take it back. */
  commitment: 'processed' | 'confirmed' | 'finalized';
  /** Null: it did what it says. Else it was charged fees and did nothing else. */
  error: unknown;
}

/** What refunds ask a Solana node beside the questions of payments. Every method throws RpcOutage or RpcRefusal. */
export interface SolanaQuestions {
  latestBlockhash(): Promise<{ blockhash: Blockhash; lastValidBlockHeight: bigint }>;
  /** In the smallest unit; 0 where there is no such account. */
  tokenBalance(account: string): Promise<bigint>;
  /** Lamports that an account of so many bytes must hold. */
  rentOf(bytes: number): Promise<bigint>;
  /** Null: the node does not know it. */
  transferStatus(signature: string): Promise<TransferStatus | null>;
  /** Whether the node is as far as the cluster. */
  isCurrent(): Promise<boolean>;
}

const inContext = <T>(value: z.ZodType<T>) => z.object({ value });
const lifetime = z.object({
  blockhash: z.string().transform((text) => toBlockhash(text)),
  lastValidBlockHeight: z.number().transform(BigInt),
});
const tokenAmount = z.object({ amount: z.string().regex(/^\d{1,20}$/) });
/** Old nodes tell of no commitment; what they show is confirmed. */
const status = z
  .object({
    err: z.unknown(),
    confirmationStatus: z.enum(['processed', 'confirmed', 'finalized']).nullish(),
  })
  .transform(({ err, confirmationStatus }): TransferStatus => ({
    commitment: confirmationStatus ?? 'confirmed',
    error: err ?? null,
  }));
const commitment = 'confirmed';
const invalidParams = -32_602;

export const createSolanaQuestions = (rpc: JsonRpc, signal: AbortSignal): SolanaQuestions => {
  const ask = askWithin(rpc, signal);
  return {
    latestBlockhash: async () => (await ask(inContext(lifetime), 'getLatestBlockhash', { commitment })).value,
    tokenBalance: async (account) => {
      try {
        const { value } = await ask(inContext(tokenAmount), 'getTokenAccountBalance', account, {
          commitment,
        });
        return BigInt(value.amount);
      } catch (error) {
        if (error instanceof RpcRefusal && error.code === invalidParams) return 0n;
        throw error;
      }
    },
    rentOf: async (bytes) =>
      BigInt(await ask(z.int(), 'getMinimumBalanceForRentExemption', bytes, { commitment })),
    transferStatus: async (signature) => {
      const answer = await ask(inContext(z.array(status.nullable())), 'getSignatureStatuses', [signature], {
        searchTransactionHistory: true,
      });
      return answer.value[0] ?? null;
    },
    isCurrent: async () => {
      try {
        return (await ask(z.string(), 'getHealth')) === 'ok';
      } catch (error) {
        if (error instanceof RpcRefusal) return false;
        throw error;
      }
    },
  };
};
