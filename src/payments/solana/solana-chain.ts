import { z } from 'zod';
import { askWithin, RpcOutage, RpcRefusal, type JsonRpc } from '../core/json-rpc.ts';

/** A transaction that is in a block. */
export interface SolanaStatus {
  /** `confirmed`: a supermajority voted for the block. `finalized`: no fork can take it back. */
  commitment: 'processed' | 'confirmed' | 'finalized';
  /** Null: the transaction did what it says. Otherwise it was charged fees and did nothing else. */
  error: unknown;
}

export interface SolanaAccount {
  /** The program that owns it. */
  owner: string;
  data: Uint8Array;
}

/** The newest block. */
export interface SolanaTip {
  slot: number;
  /** Seconds since 1970, as the validators agreed on it. */
  blockTime: number;
}

export interface SolanaSignature {
  signature: string;
  /** Seconds since 1970, as the validators agreed on it; null where the node does not know. */
  blockTime: number | null;
}

export interface SignaturePage {
  limit: number;
  /** Lists only transactions that are older than this signature. */
  before?: string;
  minSlot?: number;
}

/**
 * Questions to a node, bound to one signal. Every method throws RpcOutage or RpcRefusal. With `minSlot`, a node that is
 * behind that slot does not answer.
 */
export interface SolanaChain {
  /** Returns the error that the transaction would cause, as the node writes it; null for none. */
  simulate(transaction: string): Promise<unknown>;
  send(transaction: string): Promise<void>;
  /** Null: the node does not know the transaction. */
  getStatus(signature: string, minSlot?: number): Promise<SolanaStatus | null>;
  getLatestBlockhash(): Promise<{ blockhash: string; lastValidBlockHeight: bigint }>;
  isBlockhashValid(blockhash: string, minSlot?: number): Promise<boolean>;
  /** The newest slot whose block no fork can take back. */
  getFinalizedSlot(): Promise<number>;
  /** Seconds since 1970; null where the node does not know. */
  getBlockTime(slot: number): Promise<number | null>;
  /** Slot and time of the newest block that no fork can take back, as the cluster itself keeps them in an account. */
  readClock(): Promise<SolanaTip>;
  /** The slot of the oldest block that the node has. */
  getFirstAvailableBlock(): Promise<number>;
  /** The slot of the oldest block that the node has from `slot` on; null for none. */
  getBlockFrom(slot: number): Promise<number | null>;
  /** Lamports. */
  getBalance(address: string): Promise<number>;
  /** In the smallest unit; 0 where there is no such account. */
  getTokenBalance(account: string): Promise<bigint>;
  /** The lamports that an account of so many bytes must hold. */
  getRent(bytes: number): Promise<bigint>;
  /** Tells whether the node is as far as the cluster. */
  isCurrent(): Promise<boolean>;
  hasAccount(address: string): Promise<boolean>;
  getAccount(address: string): Promise<SolanaAccount | null>;
  /** Base58; the first 32 characters are the cluster's CAIP-2 reference. */
  getGenesisHash(): Promise<string>;
  /** The newest transactions that name the address, newest first. */
  getSignatures(address: string, page: SignaturePage): Promise<SolanaSignature[]>;
  /** Base64; null when there is none of that signature. */
  getTransaction(signature: string): Promise<string | null>;
}

const inContext = <T>(value: z.ZodType<T>) => z.object({ value });
const slotNumber = z.int().min(0);
/** Old nodes tell no commitment; the transactions that they show are confirmed. */
const status = z
  .object({
    err: z.unknown(),
    confirmationStatus: z.enum(['processed', 'confirmed', 'finalized']).nullish(),
  })
  .transform(({ err, confirmationStatus }): SolanaStatus => ({
    commitment: confirmationStatus ?? 'confirmed',
    error: err ?? null,
  }));
const statuses = z.object({ context: z.object({ slot: slotNumber }), value: z.array(status.nullable()) });
const signatures = z.array(z.object({ signature: z.string(), blockTime: z.number().nullish() }));
const landed = z.object({ transaction: z.tuple([z.string(), z.literal('base64')]) }).nullable();
const account = z
  .object({ owner: z.string(), data: z.tuple([z.string(), z.literal('base64')]) })
  .transform(({ owner, data }) => ({ owner, data: Uint8Array.from(Buffer.from(data[0], 'base64')) }));
const blockhashLife = z.object({
  blockhash: z.string(),
  lastValidBlockHeight: z.number().transform(BigInt),
});
const tokenAmount = z.object({ amount: z.string().regex(/^\d{1,20}$/) });
const clockAddress = 'SysvarC1ock11111111111111111111111111111111';
/** The clock's data: slot, start of the epoch, two epochs and the time, eight bytes each. */
const clockTimeAt = 32;
const commitment = 'confirmed';
const invalidParams = -32_602;
const atLeast = (minSlot: number | undefined) => (minSlot === undefined ? {} : { minContextSlot: minSlot });

export const createSolanaChain = (rpc: JsonRpc, signal: AbortSignal): SolanaChain => {
  const ask = askWithin(rpc, signal);
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
    getStatus: async (signature, minSlot) => {
      const answer = await ask(statuses, 'getSignatureStatuses', [signature], {
        searchTransactionHistory: true,
      });
      // This method alone has no parameter for it.
      if (minSlot !== undefined && answer.context.slot < minSlot) throw new RpcOutage('the node is behind');
      return answer.value[0] ?? null;
    },
    getLatestBlockhash: async () =>
      (await ask(inContext(blockhashLife), 'getLatestBlockhash', { commitment })).value,
    isBlockhashValid: async (blockhash, minSlot) =>
      (await ask(inContext(z.boolean()), 'isBlockhashValid', blockhash, { commitment, ...atLeast(minSlot) }))
        .value,
    getFinalizedSlot: () => ask(slotNumber, 'getSlot', { commitment: 'finalized' }),
    getBlockTime: (slot) => ask(z.number().nullable(), 'getBlockTime', slot),
    readClock: async () => {
      const { value } = await ask(inContext(account.nullable()), 'getAccountInfo', clockAddress, {
        encoding: 'base64',
        commitment: 'finalized',
      });
      if (value === null || value.data.length < clockTimeAt + 8)
        throw new RpcOutage('the node does not know the time');
      const data = Buffer.from(value.data);
      return {
        slot: Number(data.readBigUInt64LE(0)),
        blockTime: Number(data.readBigInt64LE(clockTimeAt)),
      };
    },
    getFirstAvailableBlock: () => ask(slotNumber, 'getFirstAvailableBlock'),
    getBlockFrom: async (slot) =>
      (await ask(z.array(slotNumber), 'getBlocksWithLimit', slot, 1, { commitment }))[0] ?? null,
    getBalance: async (address) =>
      (await ask(inContext(z.number()), 'getBalance', address, { commitment })).value,
    getTokenBalance: async (account) => {
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
    getRent: async (bytes) =>
      BigInt(await ask(z.int(), 'getMinimumBalanceForRentExemption', bytes, { commitment })),
    isCurrent: async () => {
      try {
        return (await ask(z.string(), 'getHealth')) === 'ok';
      } catch (error) {
        if (error instanceof RpcRefusal) return false;
        throw error;
      }
    },
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
    getSignatures: async (address, { minSlot, ...page }) => {
      const found = await ask(signatures, 'getSignaturesForAddress', address, {
        ...page,
        commitment,
        ...atLeast(minSlot),
      });
      return found.map(({ signature, blockTime = null }) => ({ signature, blockTime }));
    },
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
