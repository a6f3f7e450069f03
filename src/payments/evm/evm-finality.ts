import { z } from 'zod';
import { findFirstBlock } from './find-first-block.ts';
import { createEvmChain, quantity, toHex } from './evm-chain.ts';
import { askWithin, RpcRefusal, type JsonRpc } from '../core/json-rpc.ts';

/** Where a node names no final block, a transfer under so many blocks counts as settled. */
const deepBlocks = 64n;

export interface FinalBlock {
  number: bigint;
  /** Whether the node named it; else it is only deep, which proves no failure. */
  isNamed: boolean;
}

const finalBlock = z.object({ number: quantity }).nullable();

/** Geth's code for a block that it cannot name, and the words of nodes that do not know the name at all. */
const unnamedBlockCode = -39_001;
const invalidParams = -32_602;
const unnamedBlock = /finalized|block tag|(?:invalid|unknown|missing) block/i;

const isUnnamed = (error: unknown): boolean =>
  error instanceof RpcRefusal &&
  (error.code === unnamedBlockCode || error.code === invalidParams || unnamedBlock.test(error.message));

const askNamed = async (rpc: JsonRpc, signal: AbortSignal): Promise<{ number: bigint } | null> => {
  try {
    return await askWithin(rpc, signal)(finalBlock, 'eth_getBlockByNumber', 'finalized', false);
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

/**
 * The hash of the transaction in the chain that used this nonce of the account, in `final` or below: what a block holds is
 * proof, and that something is missing is none. Null when the node does not show it. Throws RpcOutage or RpcRefusal.
 */
export const findNonceUse = async (
  { rpc, signal }: { rpc: JsonRpc; signal: AbortSignal },
  { account, nonce, final }: { account: string; nonce: bigint; final: bigint },
): Promise<string | null> => {
  const isUsedBy = async (block: bigint): Promise<boolean> =>
    (await askWithin(rpc, signal)(quantity, 'eth_getTransactionCount', account, toHex(block))) > nonce;
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
  const usedAt = await findFirstBlock({ after: unused, upTo: used }, isUsedBy);
  const block = await askWithin(rpc, signal)(
    blockWithTransactions,
    'eth_getBlockByNumber',
    toHex(usedAt),
    true,
  );
  const sender = account.toLowerCase();
  const found = block?.transactions.find(
    (transaction) => transaction.nonce === nonce && transaction.from.toLowerCase() === sender,
  );
  return found?.hash ?? null;
};

/** How many transactions of an account are in blocks that the node names final. Throws RpcOutage or RpcRefusal. */
export const readFinalNonce = (rpc: JsonRpc, account: string, signal: AbortSignal): Promise<bigint> =>
  askWithin(rpc, signal)(quantity, 'eth_getTransactionCount', account, 'finalized');
