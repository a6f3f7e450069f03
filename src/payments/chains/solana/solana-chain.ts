import { z } from 'zod';
import { instead } from '../../../kit/errors.ts';
import { askWithin, isRefusal, RpcOutage, type Ask, type JsonRpc } from '../core/json-rpc.ts';

export interface SolanaTip {
  slot: number;
  /** Seconds since 1970, as the validators agreed on it. */
  blockTime: number;
}

const slotNumber = z.int().min(0);
const status = z
  .object({
    err: z.unknown(),
    confirmationStatus: z.enum(['processed', 'confirmed', 'finalized']).nullish(),
  })
  .transform(({ err, confirmationStatus }) => ({
    /** `finalized`: no fork can take it back. The transactions that old nodes show are confirmed. */
    commitment: confirmationStatus ?? 'confirmed',
    /** Null: the transaction did what it says. Otherwise it was charged fees and did nothing else. */
    error: err ?? null,
  }));
export type SolanaStatus = z.output<typeof status>;
const statuses = z.object({ context: z.object({ slot: slotNumber }), value: z.array(status.nullable()) });
/** `blockTime`: seconds since 1970, as the validators agreed on it; null where the node does not know. */
const signatures = z.array(
  z.object({ signature: z.string(), blockTime: z.number().nullable().default(null) }),
);
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
const base64 = { encoding: 'base64', commitment };
const atLeast = (minSlot: number | undefined) => (minSlot === undefined ? {} : { minContextSlot: minSlot });

const askValue = async <T>(ask: Ask, schema: z.ZodType<T>, ...question: [string, ...unknown[]]): Promise<T> =>
  (await ask(z.object({ value: schema }), ...question)).value;

const askTransactions = (ask: Ask) => ({
  /** Returns the error that the transaction would cause, as the node writes it; null for none. */
  simulate: async (transaction: string): Promise<unknown> => {
    const options = { ...base64, sigVerify: false, replaceRecentBlockhash: false };
    const simulated = z.object({ err: z.unknown() });
    return (await askValue(ask, simulated, 'simulateTransaction', transaction, options)).err ?? null;
  },
  send: async (transaction: string): Promise<void> => {
    const options = { encoding: 'base64', skipPreflight: true, preflightCommitment: commitment };
    await ask(z.string(), 'sendTransaction', transaction, options);
  },
  getStatus: async (signature: string, minSlot?: number): Promise<SolanaStatus | null> => {
    const options = { searchTransactionHistory: true };
    const answer = await ask(statuses, 'getSignatureStatuses', [signature], options);
    // This method alone has no parameter for it.
    if (minSlot !== undefined && answer.context.slot < minSlot) throw new RpcOutage('the node is behind');
    return answer.value[0] ?? null;
  },
  /** The newest transactions that name the address, newest first; only those older than `before`. */
  getSignatures: (
    address: string,
    { minSlot, ...page }: { limit: number; before?: string; minSlot?: number | undefined },
  ) => ask(signatures, 'getSignaturesForAddress', address, { ...page, commitment, ...atLeast(minSlot) }),
  /** Base64; null when there is none of that signature. */
  getTransaction: async (signature: string): Promise<string | null> => {
    const options = { ...base64, maxSupportedTransactionVersion: 0 };
    return (await ask(landed, 'getTransaction', signature, options))?.transaction[0] ?? null;
  },
});

const askBlocks = (ask: Ask) => ({
  getLatestBlockhash: () => askValue(ask, blockhashLife, 'getLatestBlockhash', { commitment }),
  isBlockhashValid: (blockhash: string, minSlot?: number) =>
    askValue(ask, z.boolean(), 'isBlockhashValid', blockhash, { commitment, ...atLeast(minSlot) }),
  getFinalizedSlot: () => ask(slotNumber, 'getSlot', { commitment: 'finalized' }),
  /** Seconds since 1970; null where the node does not know. */
  getBlockTime: (slot: number) => ask(z.number().nullable(), 'getBlockTime', slot),
  getFirstAvailableBlock: () => ask(slotNumber, 'getFirstAvailableBlock'),
  /** The slot of the oldest block that the node has from `slot` on; null for none. */
  getBlockFrom: async (slot: number): Promise<number | null> =>
    (await ask(z.array(slotNumber), 'getBlocksWithLimit', slot, 1, { commitment }))[0] ?? null,
  /** Base58; the first 32 characters are the cluster's CAIP-2 reference. */
  getGenesisHash: () => ask(z.string(), 'getGenesisHash'),
  isCurrent: async (): Promise<boolean> =>
    (await ask(z.string(), 'getHealth').catch(instead(null, isRefusal))) === 'ok',
});

const askAccounts = (ask: Ask) => ({
  getAccount: (address: string) => askValue(ask, account.nullable(), 'getAccountInfo', address, base64),
  /** Slot and time of the newest block that no fork can take back, as the cluster keeps them in an account. */
  readClock: async (): Promise<SolanaTip> => {
    const options = { ...base64, commitment: 'finalized' };
    const clock = await askValue(ask, account.nullable(), 'getAccountInfo', clockAddress, options);
    if (clock === null || clock.data.length < clockTimeAt + 8)
      throw new RpcOutage('the node does not know the time');
    const data = Buffer.from(clock.data);
    return { slot: Number(data.readBigUInt64LE(0)), blockTime: Number(data.readBigInt64LE(clockTimeAt)) };
  },
  getLamports: async (address: string): Promise<bigint> =>
    BigInt(await askValue(ask, z.int(), 'getBalance', address, { commitment })),
  /** In the smallest unit; 0 where there is no such account. */
  getTokenBalance: async (address: string): Promise<bigint> => {
    const found = await askValue(ask, tokenAmount, 'getTokenAccountBalance', address, { commitment }).catch(
      instead(null, (error) => isRefusal(error) && error.code === invalidParams),
    );
    return BigInt(found?.amount ?? 0);
  },
  getRent: async (bytes: number): Promise<bigint> =>
    BigInt(await ask(z.int(), 'getMinimumBalanceForRentExemption', bytes, { commitment })),
});

export type SolanaChain = ReturnType<typeof createSolanaChain>;

/** Every method throws RpcOutage or RpcRefusal. With `minSlot`, a node that is behind that slot does not answer. */
export const createSolanaChain = (rpc: JsonRpc, signal: AbortSignal) => {
  const ask = askWithin(rpc, signal);
  return { ...askTransactions(ask), ...askBlocks(ask), ...askAccounts(ask) };
};
