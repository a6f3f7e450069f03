import { z } from 'zod';
import type { Hex } from 'viem';
import type { EvmFees } from './evm-fees.ts';
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
  /** Null for one that creates a contract. */
  to: Hex | null;
  input: Hex;
}

export interface EvmBlock {
  number: bigint;
  /** Seconds since 1970. */
  timestamp: bigint;
  baseFeePerGas: bigint;
}

/** What a block holds. */
export interface EvmBlockContents {
  hash: Hex;
  /** The hashes of its transactions, in their order. */
  transactions: Hex[];
}

export interface EvmLogFilter {
  /** Of one contract, or of any of several. */
  address: string | string[];
  topics: (Hex | Hex[])[];
}

/** The questions to a node, bound to one signal. Every method throws RpcOutage or RpcRefusal. */
export interface EvmChain {
  chainId(): Promise<bigint>;
  getBalance(address: string): Promise<bigint>;
  getCode(address: string): Promise<Hex>;
  /** At `block`, or the latest; by nobody unless `from` is told. */
  call(request: { from?: string; to: string; data: Hex; block?: bigint }): Promise<Hex>;
  /** At the latest block. With `fees` a contract sees the price that it will see, and a sender who cannot pay it is refused. */
  estimateGas(request: { from: string; to: string; data: Hex; fees?: EvmFees }): Promise<bigint>;
  getBlock(): Promise<EvmBlock>;
  /** Null for a block that the node does not have. */
  getBlockContents(block: bigint): Promise<EvmBlockContents | null>;
  getPriorityFee(): Promise<bigint>;
  /** The next nonce of an account: `pending` counts what waits in the node's pool, as far as it has no gap. */
  getNonce(address: string, at: 'pending' | 'latest'): Promise<number>;
  sendRaw(rawTransaction: string): Promise<void>;
  getReceipt(hash: string): Promise<EvmReceipt | null>;
  getTransaction(hash: string): Promise<EvmTransaction | null>;
  /** An index that is behind answers with too few for blocks that it has not seen; one block is asked for by its hash. */
  getLogs(
    filter: EvmLogFilter & ({ fromBlock: bigint; toBlock: bigint } | { blockHash: Hex }),
  ): Promise<EvmLog[]>;
}

const hex = z.custom<Hex>((value) => typeof value === 'string' && /^0x[0-9a-fA-F]*$/.test(value));
/** A number as nodes write it, of up to 256 bits. */
export const quantity = z
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
/** The same, as nodes read it. */
export const toHex = (value: bigint): Hex => `0x${value.toString(16)}`;

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
    getBlockContents: (number) => ask(blockContents, 'eth_getBlockByNumber', toHex(number), false),
    getPriorityFee: () => ask(quantity, 'eth_maxPriorityFeePerGas'),
    getNonce: async (address, at) => Number(await ask(quantity, 'eth_getTransactionCount', address, at)),
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

/** Whether the node ran the call and the contract refused it, which is a fact; all else says nothing. */
export const isRevert = (error: unknown): error is RpcRefusal =>
  error instanceof RpcRefusal && (error.code === 3 || /revert/i.test(error.message));
