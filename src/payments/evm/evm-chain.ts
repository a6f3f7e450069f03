import { z } from 'zod';
import type { Hex } from 'viem';
import { askWithin, RpcRefusal, type JsonRpc } from '../core/json-rpc.ts';

export interface EvmLog {
  address: Hex;
  topics: Hex[];
  data: Hex;
  transactionHash: Hex;
}

export interface EvmReceipt {
  status: 'success' | 'reverted';
  blockNumber: bigint;
  blockHash: Hex;
  /** In the order of the transaction. */
  logs: EvmLog[];
}

export interface EvmTransaction {
  /** Null for the creation of a contract. */
  to: Hex | null;
  input: Hex;
}

/** Wei a unit of gas. */
export interface EvmFees {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

export interface EvmBlock {
  number: bigint;
  /** Seconds since 1970. */
  timestamp: bigint;
  baseFeePerGas: bigint;
}

export interface EvmBlockContents {
  hash: Hex;
  /** The hashes of its transactions, in their order. */
  transactions: Hex[];
}

export interface EvmSender {
  hash: string;
  from: string;
  nonce: bigint;
}

export interface EvmLogFilter {
  /** One contract, or any of several. */
  address: string | string[];
  topics: (Hex | Hex[])[];
}

/** Questions to a node, bound to one signal. Every method throws RpcOutage or RpcRefusal. */
export interface EvmChain {
  chainId(): Promise<bigint>;
  getBalance(address: string): Promise<bigint>;
  getCode(address: string): Promise<Hex>;
  /** At `block`, or the latest; by the zero address unless `from` is given. */
  call(request: { from?: string; to: string; data: Hex; block?: bigint }): Promise<Hex>;
  /**
   * At the latest block. With `fees` the contract sees the price that it will see later, and a sender who cannot pay it is
   * refused.
   */
  estimateGas(request: { from: string; to: string; data: Hex; fees?: EvmFees }): Promise<bigint>;
  getBlock(): Promise<EvmBlock>;
  /** The number of the newest block that the node names final; null for a node that names none. */
  getFinalBlockNumber(): Promise<bigint | null>;
  /** Null for a block that the node does not have. */
  getBlockContents(block: bigint): Promise<EvmBlockContents | null>;
  /** The transactions of a block with their senders; none for a block that the node does not have. */
  getSenders(block: bigint): Promise<EvmSender[]>;
  getPriorityFee(): Promise<bigint>;
  /**
   * The next nonce of an account at a block. `pending` counts the transactions in the node's pool, as far as they have no
   * gap; `finalized` counts those in blocks that the node names final.
   */
  getNonce(address: string, at: 'pending' | 'latest' | 'finalized' | bigint): Promise<number>;
  sendRaw(rawTransaction: string): Promise<void>;
  getReceipt(hash: string): Promise<EvmReceipt | null>;
  getTransaction(hash: string): Promise<EvmTransaction | null>;
  /** A node whose index is behind its blocks answers with too few logs. One block is asked for by its hash. */
  getLogs(
    filter: EvmLogFilter & ({ fromBlock: bigint; toBlock: bigint } | { blockHash: Hex }),
  ): Promise<EvmLog[]>;
}

const hex = z.custom<Hex>((value) => typeof value === 'string' && /^0x[0-9a-fA-F]*$/.test(value));
/** A number of up to 256 bits, as nodes write it. */
const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform(BigInt);
const log = z.object({ address: hex, topics: z.array(hex), data: hex, transactionHash: hex });
const receipt = z
  .object({ status: z.enum(['0x0', '0x1']), blockNumber: quantity, blockHash: hex, logs: z.array(log) })
  .nullable()
  .transform(
    (value): EvmReceipt | null =>
      value && {
        status: value.status === '0x1' ? 'success' : 'reverted',
        blockNumber: value.blockNumber,
        blockHash: value.blockHash,
        logs: value.logs,
      },
  );
const transaction = z.object({ to: hex.nullable(), input: hex }).nullable();
const block = z.object({ number: quantity, timestamp: quantity, baseFeePerGas: quantity });
const blockContents = z.object({ hash: hex, transactions: z.array(hex) }).nullable();
const finalBlock = z.object({ number: quantity }).nullable();
const blockSenders = z
  .object({ transactions: z.array(z.object({ hash: z.string(), from: z.string(), nonce: quantity })) })
  .nullable();

/** Geth's code for a block that it cannot name, and the words of nodes that do not know the name at all. */
const unnamedBlockCode = -39_001;
const invalidParams = -32_602;
const unnamedBlock = /finalized|block tag|(?:invalid|unknown|missing) block/i;
const isUnnamed = (error: unknown): boolean =>
  error instanceof RpcRefusal &&
  (error.code === unnamedBlockCode || error.code === invalidParams || unnamedBlock.test(error.message));

/** Writes a number as nodes read it. */
const toHex = (value: bigint): Hex => `0x${value.toString(16)}`;

export const createEvmChain = (rpc: JsonRpc, signal: AbortSignal): EvmChain => {
  const ask = askWithin(rpc, signal);
  return {
    chainId: () => ask(quantity, 'eth_chainId'),
    getBalance: (address) => ask(quantity, 'eth_getBalance', address, 'latest'),
    getCode: (address) => ask(hex, 'eth_getCode', address, 'latest'),
    call: ({ block: at, ...request }) =>
      ask(hex, 'eth_call', request, at === undefined ? 'latest' : toHex(at)),
    estimateGas: ({ fees, ...request }) =>
      ask(
        quantity,
        'eth_estimateGas',
        {
          ...request,
          ...(fees && {
            maxFeePerGas: toHex(fees.maxFeePerGas),
            maxPriorityFeePerGas: toHex(fees.maxPriorityFeePerGas),
          }),
        },
        // Some nodes would take what waits in their pool for granted.
        'latest',
      ),
    getBlock: () => ask(block, 'eth_getBlockByNumber', 'latest', false),
    getFinalBlockNumber: async () => {
      try {
        return (await ask(finalBlock, 'eth_getBlockByNumber', 'finalized', false))?.number ?? null;
      } catch (error) {
        if (isUnnamed(error)) return null;
        throw error;
      }
    },
    getBlockContents: (number) => ask(blockContents, 'eth_getBlockByNumber', toHex(number), false),
    getSenders: async (number) =>
      (await ask(blockSenders, 'eth_getBlockByNumber', toHex(number), true))?.transactions ?? [],
    getPriorityFee: () => ask(quantity, 'eth_maxPriorityFeePerGas'),
    getNonce: async (address, at) => {
      const block = typeof at === 'bigint' ? toHex(at) : at;
      return Number(await ask(quantity, 'eth_getTransactionCount', address, block));
    },
    sendRaw: async (rawTransaction) => {
      await ask(hex, 'eth_sendRawTransaction', rawTransaction);
    },
    getReceipt: (hash) => ask(receipt, 'eth_getTransactionReceipt', hash),
    getTransaction: (hash) => ask(transaction, 'eth_getTransactionByHash', hash),
    getLogs: ({ address, topics, ...where }) =>
      ask(z.array(log), 'eth_getLogs', {
        address,
        topics,
        ...('blockHash' in where
          ? where
          : { fromBlock: toHex(where.fromBlock), toBlock: toHex(where.toBlock) }),
      }),
  };
};

/** Tells whether the node ran the call and the contract refused it, which is a fact. All other errors prove nothing. */
export const isRevert = (error: unknown): error is RpcRefusal =>
  error instanceof RpcRefusal && (error.code === 3 || /revert/i.test(error.message));

/** The chain's number in a CAIP-2 name. */
export const chainIdOf = (network: string): number => Number(network.split(':')[1]);

/**
 * Finds the first block in which something holds that holds from then on: it does not hold in `after`, and it holds in
 * `upTo`. Halves the blocks between. Throws what `holds` throws.
 */
export const findFirstBlock = async (
  { after, upTo }: { after: bigint; upTo: bigint },
  holds: (block: bigint) => Promise<boolean>,
): Promise<bigint> => {
  let before = after;
  let first = upTo;
  while (first - before > 1n) {
    const middle = (before + first) / 2n;
    if (await holds(middle)) first = middle;
    else before = middle;
  }
  return first;
};
