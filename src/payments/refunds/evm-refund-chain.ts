import { isHex, parseTransaction } from 'viem';
import { z } from 'zod';
import { createEvmChain, type EvmChain, type EvmReceipt } from '../facilitators/evm-chain.ts';
import { isTransferLog } from '../facilitators/evm-transfer-log.ts';
import { RpcOutage, type JsonRpc } from '../facilitators/json-rpc.ts';
import { waitFor } from '../facilitators/wait.ts';
import type { BegunTransfer, RefundChain, TransferOutcome } from './refund-transfer.ts';

/** Nodes behind one address may be apart: a second look after so long sees what the first one missed. */
const defaultSecondLookMs = 15_000;

const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform(BigInt);
const finalBlock = z.object({ number: quantity });

/** Nothing of these blocks can be taken back, so what they say is a proof. */
const askFinalized = async <T>(rpc: JsonRpc, schema: z.ZodType<T>, ask: FinalQuestion): Promise<T> => {
  const parsed = schema.safeParse(await rpc.request(ask.method, ask.params, ask.signal));
  if (!parsed.success) throw new RpcOutage(`the node answered ${ask.method} with something else`);
  return parsed.data;
};

interface FinalQuestion {
  method: string;
  params: unknown[];
  signal: AbortSignal;
}

const nonceOf = ({ rawTransaction }: BegunTransfer): bigint => {
  if (!isHex(rawTransaction)) throw new TypeError('an EVM transaction is written in hex');
  return BigInt(parseTransaction(rawTransaction).nonce ?? 0);
};

/** Tells what became of refunds on one EVM chain. */
export const createEvmRefundChain = ({
  rpc,
  secondLookMs = defaultSecondLookMs,
}: {
  rpc: JsonRpc;
  secondLookMs?: number;
}): RefundChain => {
  const readReceipt = async (
    { status, logs, blockNumber }: EvmReceipt,
    transfer: BegunTransfer,
    signal: AbortSignal,
  ): Promise<TransferOutcome> => {
    const { asset: token, sender: from, recipient: to, amount } = transfer;
    if (status === 'success')
      return logs.some((log) => isTransferLog(log, { token, from, to, amount }))
        ? { outcome: 'settled' }
        : { outcome: 'open', reason: 'transfer_not_logged' };
    const { number } = await askFinalized(rpc, finalBlock, {
      method: 'eth_getBlockByNumber',
      params: ['finalized', false],
      signal,
    });
    // A block that is dropped gives the transaction free again, and then it may succeed.
    return blockNumber <= number
      ? { outcome: 'failed', reason: 'transaction_reverted' }
      : { outcome: 'open', reason: 'revert_not_final' };
  };

  /** Whether another transaction took its place for good. */
  const isOvertaken = async (transfer: BegunTransfer, signal: AbortSignal): Promise<boolean> => {
    const used = await askFinalized(rpc, quantity, {
      method: 'eth_getTransactionCount',
      params: [transfer.sender, 'finalized'],
      signal,
    });
    return used > nonceOf(transfer);
  };

  const findOutcome = async (
    transfer: BegunTransfer,
    { chain, signal }: { chain: EvmChain; signal: AbortSignal },
  ): Promise<TransferOutcome> => {
    const first = await chain.getReceipt(transfer.transaction);
    if (first !== null) return readReceipt(first, transfer, signal);
    if (!(await isOvertaken(transfer, signal))) return { outcome: 'open', reason: 'not_landed' };
    if (!(await waitFor(secondLookMs, signal))) return { outcome: 'open', reason: 'not_landed' };
    // A node that forgets old receipts, or serves another chain, knows that one as little.
    if ((await chain.getReceipt(transfer.landmark)) === null)
      return { outcome: 'open', reason: 'history_too_short' };
    const second = await chain.getReceipt(transfer.transaction);
    if (second !== null) return readReceipt(second, transfer, signal);
    return (await isOvertaken(transfer, signal))
      ? { outcome: 'failed', reason: 'nonce_used_otherwise' }
      : { outcome: 'open', reason: 'not_landed' };
  };

  return {
    send: async ({ rawTransaction }, signal) => {
      try {
        await createEvmChain(rpc, signal).sendRaw(rawTransaction);
      } catch {
        // "Nonce too low" and "already known" may both mean that it landed: the receipt alone tells.
      }
    },
    findOutcome: (transfer, signal) => findOutcome(transfer, { chain: createEvmChain(rpc, signal), signal }),
  };
};
