import { z } from 'zod';
import type { Hex } from 'viem';
import { instead } from '../../../kit/errors.ts';
import { askWithin, RpcRefusal, type JsonRpc } from '../core/json-rpc.ts';
import { judgeFunds, type FacilitatorHealth } from '../core/facilitator.ts';
import type { PaymentNetwork, TransferMethod } from '../core/network-family.ts';

/** Wei a unit of gas. */
export interface EvmFees {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

const hex = z.custom<Hex>((value) => typeof value === 'string' && /^0x[0-9a-fA-F]*$/.test(value));
/** A number of up to 256 bits, as nodes write it. */
const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform(BigInt);
const log = z.object({ address: hex, topics: z.array(hex), data: hex, transactionHash: hex });
/** The logs are in the order of the transaction. */
const receipt = z.object({
  status: z.enum(['0x0', '0x1']).transform((text) => (text === '0x1' ? 'success' : 'reverted')),
  blockNumber: quantity,
  blockHash: hex,
  logs: z.array(log),
});
/** `to` is null for the creation of a contract. */
const transaction = z.object({ to: hex.nullable(), input: hex });
/** `timestamp`: seconds since 1970. */
const block = z.object({ number: quantity, timestamp: quantity, baseFeePerGas: quantity });
const blockContents = z.object({ hash: hex, transactions: z.array(hex) });
const finalBlock = z.object({ number: quantity }).nullable();
const blockSenders = z
  .object({ transactions: z.array(z.object({ hash: z.string(), from: z.string(), nonce: quantity })) })
  .nullable();

export type EvmLog = z.infer<typeof log>;
export type EvmReceipt = z.infer<typeof receipt>;
export type EvmTransaction = z.infer<typeof transaction>;
export type EvmBlockContents = z.infer<typeof blockContents>;

/** Geth's code for a block that it cannot name, and the words of nodes that do not know the name at all. */
const unnamedBlockCode = -39_001;
const invalidParams = -32_602;
const unnamedBlock = /finalized|block tag|(?:invalid|unknown|missing) block/i;
const isUnnamed = (error: unknown): boolean =>
  error instanceof RpcRefusal &&
  (error.code === unnamedBlockCode || error.code === invalidParams || unnamedBlock.test(error.message));

const toHex = (value: bigint): Hex => `0x${value.toString(16)}`;

interface CallRequest {
  from?: string;
  /** Absent: the data are code, which runs and is not stored. */
  to?: string;
  data: Hex;
}

type LogFilter = {
  address: string | string[];
  topics: (Hex | Hex[])[];
} & ({ fromBlock: bigint; toBlock: bigint } | { blockHash: Hex });

/** Questions to a node, bound to one signal. Every method throws RpcOutage or RpcRefusal. */
export type EvmChain = ReturnType<typeof createEvmChain>;

export const createEvmChain = (rpc: JsonRpc, signal: AbortSignal) => {
  const ask = askWithin(rpc, signal);
  return {
    chainId: () => ask(quantity, 'eth_chainId'),
    getBalance: (address: string) => ask(quantity, 'eth_getBalance', address, 'latest'),
    getCode: (address: string) => ask(hex, 'eth_getCode', address, 'latest'),
    /** At `block`, or the latest; by the zero address unless `from` is given. */
    call: ({ block: at, ...request }: CallRequest & { block?: bigint }) =>
      ask(hex, 'eth_call', request, at === undefined ? 'latest' : toHex(at)),
    /** With `fees` the contract sees its later price, and a sender who cannot pay that is refused. */
    estimateGas: ({ fees, ...request }: CallRequest & { fees?: EvmFees }) =>
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
        // Some nodes would take the transactions in their pool for granted.
        'latest',
      ),
    getBlock: () => ask(block, 'eth_getBlockByNumber', 'latest', false),
    /** The number of the newest block that the node names final; null for a node that names none. */
    getFinalBlockNumber: async (): Promise<bigint | null> => {
      const final = ask(finalBlock, 'eth_getBlockByNumber', 'finalized', false);
      return (await final.catch(instead(null, isUnnamed)))?.number ?? null;
    },
    getBlockContents: (number: bigint) =>
      ask(blockContents.nullable(), 'eth_getBlockByNumber', toHex(number), false),
    /** The transactions of a block with their senders; none for a block that the node does not have. */
    getSenders: async (number: bigint) =>
      (await ask(blockSenders, 'eth_getBlockByNumber', toHex(number), true))?.transactions ?? [],
    getPriorityFee: () => ask(quantity, 'eth_maxPriorityFeePerGas'),
    /** `pending` counts the transactions in the node's pool, as far as they have no gap. */
    getNonce: async (address: string, at: 'pending' | 'latest' | bigint): Promise<number> => {
      const block = typeof at === 'bigint' ? toHex(at) : at;
      return Number(await ask(quantity, 'eth_getTransactionCount', address, block));
    },
    sendRaw: async (rawTransaction: string): Promise<void> => {
      await ask(hex, 'eth_sendRawTransaction', rawTransaction);
    },
    getReceipt: (hash: string) => ask(receipt.nullable(), 'eth_getTransactionReceipt', hash),
    getTransaction: (hash: string) => ask(transaction.nullable(), 'eth_getTransactionByHash', hash),
    /** A node whose index is behind its blocks answers with too few logs. One block is asked for by its hash. */
    getLogs: ({ address, topics, ...where }: LogFilter) =>
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

export const chainIdOf = (network: string): number => Number(network.split(':')[1]);

/** Finds the first block, after `after` and up to `upTo`, from which on something holds. It does not hold in `after`. */
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

/** The code of a plain wallet that delegates to a contract (EIP-7702) begins so. */
const delegationPrefix = '0xef0100';
/** The signature of a contract wallet that it deploys first (ERC-6492) ends so. */
const erc6492Suffix = '6492'.repeat(16);

/**
 * Names the wallet whose signature was accepted (`NetworkFamily.findWallet`), for payments and sign-ins alike. A plain wallet
 * that delegates to code is still the owner of its key, and the same on all chains. A contract belongs to its chain
 * (`network`), as its address may be somebody else's on others. Throws RpcOutage and RpcRefusal.
 */
export const nameEvmWallet = async (
  chain: EvmChain,
  { address, signature, network }: { address: string; signature: string; network: string },
): Promise<string> => {
  const code = await chain.getCode(address);
  const isPlain = code === '0x' || code.startsWith(delegationPrefix);
  return `${isPlain && !signature.endsWith(erc6492Suffix) ? 'eip155' : network}:${address.toLowerCase()}`;
};

type FeeMarket = Awaited<ReturnType<typeof readFeeMarket>>;

/** Reads the base fee, and fees that stay payable while it doubles. Throws RpcOutage or RpcRefusal. */
export const readFeeMarket = async (chain: EvmChain) => {
  const [{ baseFeePerGas }, maxPriorityFeePerGas] = await Promise.all([
    chain.getBlock(),
    chain.getPriorityFee(),
  ]);
  const fees: EvmFees = { maxFeePerGas: baseFeePerGas * 2n + maxPriorityFeePerGas, maxPriorityFeePerGas };
  return { baseFeePerGas, fees };
};

/** Nodes replace a transaction by another with the same nonce for at least a tenth more, some for an eighth. */
const raise = (fee: bigint): bigint => fee + fee / 8n + 1n;
const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** Returns the fees of a transaction that replaces one with the fees `offered`, and is worth a miner's while. */
export const raiseFees = (offered: EvmFees, { fees }: FeeMarket): EvmFees => ({
  maxFeePerGas: larger(raise(offered.maxFeePerGas), fees.maxFeePerGas),
  maxPriorityFeePerGas: larger(raise(offered.maxPriorityFeePerGas), fees.maxPriorityFeePerGas),
});

/** Tells whether the chain now suggests so much more for the miner that a replacement is taken. */
export const isOutbid = (offered: EvmFees, { baseFeePerGas, fees }: FeeMarket): boolean => {
  const left = offered.maxFeePerGas - baseFeePerGas;
  const tip = left < offered.maxPriorityFeePerGas ? left : offered.maxPriorityFeePerGas;
  return fees.maxPriorityFeePerGas >= raise(tip);
};

export const settlementGas: Record<TransferMethod, bigint> = { eip3009: 120_000n, permit2: 160_000n };

/** Checks that the account can pay for settlements at a price below the limit. Throws RpcOutage or RpcRefusal. */
export const checkEvmFunds = async (
  chain: EvmChain,
  { network, account }: { network: PaymentNetwork; account: string },
): Promise<FacilitatorHealth> => {
  const [spendable, { fees }] = await Promise.all([chain.getBalance(account), readFeeMarket(chain)]);
  const settlementCost = settlementGas[network.asset.transfer ?? 'eip3009'] * fees.maxFeePerGas;
  if (network.maxGasCost !== null && settlementCost > network.maxGasCost)
    return { ready: false, detail: 'a settlement costs more gas now than it may' };
  return judgeFunds({ account, spendable, settlementCost });
};
