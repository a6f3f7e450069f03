import { z } from 'zod';
import { createEvmChain } from '../facilitators/evm-chain.ts';
import { RpcOutage, RpcRefusal, type JsonRpc } from '../facilitators/json-rpc.ts';

/** Where a node names no final block, a transfer under so many blocks counts as settled. */
const deepBlocks = 64n;

export interface FinalBlock {
  number: bigint;
  /** Whether the node named it; else it is only deep, which proves no failure. */
  isNamed: boolean;
}

const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform(BigInt);
const finalBlock = z.object({ number: quantity }).nullable();

/** Geth's code for a block that it cannot name, and the words of nodes that do not know the name at all. */
const unnamedBlockCode = -39_001;
const invalidParams = -32_602;
const unnamedBlock = /finalized|block tag|(?:invalid|unknown|missing) block/i;

const isUnnamed = (error: unknown): boolean =>
  error instanceof RpcRefusal &&
  (error.code === unnamedBlockCode || error.code === invalidParams || unnamedBlock.test(error.message));

const ask = async <T>(
  schema: z.ZodType<T>,
  { rpc, method, params, signal }: { rpc: JsonRpc; method: string; params: unknown[]; signal: AbortSignal },
): Promise<T> => {
  const parsed = schema.safeParse(await rpc.request(method, params, signal));
  if (!parsed.success) throw new RpcOutage(`the node answered ${method} with something else`);
  return parsed.data;
};

const askNamed = async (rpc: JsonRpc, signal: AbortSignal): Promise<{ number: bigint } | null> => {
  try {
    return await ask(finalBlock, {
      rpc,
      method: 'eth_getBlockByNumber',
      params: ['finalized', false],
      signal,
    });
  } catch (error) {
    if (isUnnamed(error)) return null;
    throw error;
  }
};

/**
 * The newest block that no fork can take back, negative for none. What is read of it and of the blocks below, and read
 * after this, stays so. Throws RpcOutage or RpcRefusal.
 */
export const readFinalBlock = async (rpc: JsonRpc, signal: AbortSignal): Promise<FinalBlock> => {
  const named = await askNamed(rpc, signal);
  if (named !== null) return { number: named.number, isNamed: true };
  const { number } = await createEvmChain(rpc, signal).getBlock();
  return { number: number - deepBlocks, isNamed: false };
};

const blockWithTransactions = z
  .object({ transactions: z.array(z.object({ hash: z.string(), from: z.string(), nonce: quantity })) })
  .nullable();
/** Looks back so far for the block in which a nonce was used. */
const maxDepth = 2n ** 24n;

const hex = (value: bigint): string => `0x${value.toString(16)}`;

/**
 * The hash of the transaction in the chain that used this nonce of the account, in `final` or below: what a block holds is
 * proof, and that something is missing is none. Null when the node does not show it. Throws RpcOutage or RpcRefusal.
 */
export const findNonceUse = async (
  { rpc, signal }: { rpc: JsonRpc; signal: AbortSignal },
  { account, nonce, final }: { account: string; nonce: bigint; final: bigint },
): Promise<string | null> => {
  const isUsedBy = async (block: bigint): Promise<boolean> =>
    (await ask(quantity, {
      rpc,
      method: 'eth_getTransactionCount',
      params: [account, hex(block)],
      signal,
    })) > nonce;
  if (!(await isUsedBy(final))) return null;
  let used = final;
  let unused = -1n;
  for (let depth = 1n; depth <= maxDepth; depth *= 4n) {
    const block = final - depth;
    if (block < 0n) break;
    if (!(await isUsedBy(block))) {
      unused = block;
      break;
    }
    used = block;
  }
  while (used - unused > 1n) {
    const middle = (used + unused) / 2n;
    if (await isUsedBy(middle)) used = middle;
    else unused = middle;
  }
  const block = await ask(blockWithTransactions, {
    rpc,
    method: 'eth_getBlockByNumber',
    params: [hex(used), true],
    signal,
  });
  const sender = account.toLowerCase();
  const found = block?.transactions.find(
    (transaction) => transaction.nonce === nonce && transaction.from.toLowerCase() === sender,
  );
  return found?.hash ?? null;
};

/** How many transactions of an account are in blocks that the node names final. Throws RpcOutage or RpcRefusal. */
export const readFinalNonce = (rpc: JsonRpc, account: string, signal: AbortSignal): Promise<bigint> =>
  ask(quantity, { rpc, method: 'eth_getTransactionCount', params: [account, 'finalized'], signal });
