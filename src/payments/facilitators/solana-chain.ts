import { z } from 'zod';
import { RpcOutage, RpcRefusal, type JsonRpc } from './json-rpc.ts';

export type SolanaStatus =
  /** In a block that a supermajority voted for. `error`: it was charged fees and did nothing else. */
  { isConfirmed: boolean; error: unknown };

export interface SolanaAccount {
  /** The program that it belongs to. */
  owner: string;
  data: Uint8Array;
}

/** The questions to a node, bound to one signal. Every method throws RpcOutage or RpcRefusal. */
export interface SolanaChain {
  /** What would go wrong, as the node writes it; null for nothing. */
  simulate(transaction: string): Promise<unknown>;
  send(transaction: string): Promise<void>;
  getStatus(signature: string): Promise<SolanaStatus | null>;
  isBlockhashValid(blockhash: string): Promise<boolean>;
  /** Lamports. */
  getBalance(address: string): Promise<number>;
  hasAccount(address: string): Promise<boolean>;
  getAccount(address: string): Promise<SolanaAccount | null>;
  /** Base58; its beginning is the cluster's CAIP-2 name. */
  getGenesisHash(): Promise<string>;
  /** The newest transactions that name the address, newest first; times in seconds since 1970. */
  getSignatures(address: string, limit: number): Promise<{ signature: string; blockTime: number | null }[]>;
  /** Base64; null when there is none of that signature. */
  getTransaction(signature: string): Promise<string | null>;
}

const inContext = <T>(value: z.ZodType<T>) => z.object({ value });
const status = z.object({
  err: z.unknown(),
  confirmationStatus: z.enum(['processed', 'confirmed', 'finalized']).nullish(),
});
const landed = z.object({ transaction: z.tuple([z.string(), z.literal('base64')]) }).nullable();
const account = z
  .object({ owner: z.string(), data: z.tuple([z.string(), z.literal('base64')]) })
  .transform(({ owner, data }) => ({ owner, data: Uint8Array.from(Buffer.from(data[0], 'base64')) }));
const commitment = 'confirmed';

export const createSolanaChain = (rpc: JsonRpc, signal: AbortSignal): SolanaChain => {
  const ask = async <T>(schema: z.ZodType<T>, method: string, ...params: unknown[]): Promise<T> => {
    const parsed = schema.safeParse(await rpc.request(method, params, signal));
    if (!parsed.success) throw new RpcOutage(`the node answered ${method} with something else`);
    return parsed.data;
  };
  return {
    simulate: async (transaction) => {
      const answer = await ask(
        inContext(z.object({ err: z.unknown() })),
        'simulateTransaction',
        transaction,
        {
          encoding: 'base64',
          sigVerify: false,
          replaceRecentBlockhash: false,
          commitment,
        },
      );
      return answer.value.err ?? null;
    },
    send: async (transaction) => {
      await ask(z.string(), 'sendTransaction', transaction, {
        encoding: 'base64',
        skipPreflight: true,
        preflightCommitment: commitment,
      });
    },
    getStatus: async (signature) => {
      const answer = await ask(inContext(z.array(status.nullable())), 'getSignatureStatuses', [signature], {
        searchTransactionHistory: true,
      });
      const found = answer.value[0] ?? null;
      if (found === null) return null;
      return { isConfirmed: found.confirmationStatus !== 'processed', error: found.err ?? null };
    },
    isBlockhashValid: async (blockhash) =>
      (await ask(inContext(z.boolean()), 'isBlockhashValid', blockhash, { commitment })).value,
    getBalance: async (address) =>
      (await ask(inContext(z.number()), 'getBalance', address, { commitment })).value,
    hasAccount: async (address) => {
      const answer = await ask(inContext(z.unknown()), 'getAccountInfo', address, {
        encoding: 'base64',
        commitment,
      });
      return answer.value !== null;
    },
    getAccount: async (address) =>
      (
        await ask(inContext(account.nullable()), 'getAccountInfo', address, {
          encoding: 'base64',
          commitment,
        })
      ).value,
    getGenesisHash: () => ask(z.string(), 'getGenesisHash'),
    getSignatures: (address, limit) =>
      ask(
        z.array(z.object({ signature: z.string(), blockTime: z.number().nullable() })),
        'getSignaturesForAddress',
        address,
        { limit, commitment },
      ),
    getTransaction: async (signature) => {
      const found = await ask(landed, 'getTransaction', signature, {
        encoding: 'base64',
        maxSupportedTransactionVersion: 0,
        commitment,
      });
      return found?.transaction[0] ?? null;
    },
  };
};

/** Invalid parameters, failed preflight, bad signatures, and transactions of a form that nodes do not take. */
const verdictCodes = new Set([-32_602, -32_002, -32_003, -32_013, -32_015]);

/** Whether the node refused the transaction itself; all other errors say nothing about it. */
export const isVerdict = (error: unknown): boolean =>
  error instanceof RpcRefusal && verdictCodes.has(error.code);
