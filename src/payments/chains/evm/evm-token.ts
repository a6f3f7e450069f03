import {
  decodeFunctionResult,
  encodeFunctionData,
  parseAbi,
  toEventSelector,
  type Abi,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  type EncodeFunctionDataParameters,
  type Hex,
} from 'viem';
import { RpcOutage } from '../core/json-rpc.ts';
import type { EvmBlockContents, EvmChain, EvmLog } from './evm-chain.ts';
import { isSameHex, permit2Contracts } from './evm-payload.ts';

export class UnreadableAnswer extends RpcOutage {}

/** Reads from a contract, at `block` or the latest. Throws RpcOutage, UnreadableAnswer or RpcRefusal. */
export const readContract = async <const abi extends Abi, name extends ContractFunctionName<abi, 'view'>>(
  chain: EvmChain,
  call: {
    address: string;
    abi: abi;
    functionName: name;
    args: ContractFunctionArgs<abi, 'view', name>;
    block?: bigint;
  },
): Promise<ContractFunctionReturnType<abi, 'view', name>> => {
  const { address, abi, functionName, block } = call;
  const request = { to: address, data: encodeFunctionData(call as EncodeFunctionDataParameters) };
  const data = await chain.call(block === undefined ? request : { ...request, block });
  try {
    return decodeFunctionResult<Abi>({ abi, functionName, data }) as ContractFunctionReturnType<
      abi,
      'view',
      name
    >;
  } catch {
    throw new UnreadableAnswer(`the contract answered ${functionName} with something else`);
  }
};

export interface TokenTransfer {
  token: string;
  from: string;
  to: string;
  amount: bigint;
}

const abi = parseAbi([
  'function transfer(address to, uint256 value) returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
  'function allowance(address owner, address spender) view returns (uint256)',
]);
const transferEvent = toEventSelector('Transfer(address,address,uint256)');

/** Types an address. Throws TypeError for any other text, which is a fault of ours. */
const toAddress = (address: string): Hex => {
  if (!/^0x[0-9a-fA-F]{40}$/.test(address)) throw new TypeError(`${address} is no EVM address`);
  return `0x${address.slice(2)}`;
};

export const encodeTransfer = (transfer: { asset: string; recipient: string; amount: bigint }) => ({
  to: toAddress(transfer.asset),
  data: encodeFunctionData({
    abi,
    functionName: 'transfer',
    args: [toAddress(transfer.recipient), transfer.amount],
  }),
});

interface Holding {
  asset: string;
  owner: string;
}

export const readTokenBalance = (chain: EvmChain, { asset, owner }: Holding): Promise<bigint> =>
  readContract(chain, { address: asset, abi, functionName: 'balanceOf', args: [toAddress(owner)] });

export const readPermit2Allowance = (chain: EvmChain, { asset, owner }: Holding): Promise<bigint> =>
  readContract(chain, {
    address: asset,
    abi,
    functionName: 'allowance',
    args: [toAddress(owner), permit2Contracts.permit2],
  });

/** Reads how much Permit2 may and can take. Throws RpcOutage or RpcRefusal. */
export const readPermit2Funds = async (chain: EvmChain, holding: Holding): Promise<bigint> => {
  const [balance, allowance] = await Promise.all([
    readTokenBalance(chain, holding),
    readPermit2Allowance(chain, holding),
  ]);
  return balance < allowance ? balance : allowance;
};

export const toTopic = (address: string): Hex => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;

export const isLogOf = (log: EvmLog, contract: string, topics: readonly Hex[]): boolean =>
  isSameHex(log.address, contract) &&
  topics.every((topic, index) => isSameHex(log.topics[index] ?? '', topic));

export const transferTopics = ({ from, to }: Pick<TokenTransfer, 'from' | 'to'>): Hex[] => [
  transferEvent,
  toTopic(from),
  toTopic(to),
];

export const isTransferLog = (log: EvmLog, transfer: TokenTransfer): boolean =>
  isLogOf(log, transfer.token, transferTopics(transfer)) &&
  log.data.length > 2 &&
  BigInt(log.data) === transfer.amount;

/** The number of blocks that most nodes search at once. */
const logWindowBlocks = 2_000n;
const maxLogWindows = 25;

export const oldestSearched = (toBlock: bigint): bigint => {
  const span = logWindowBlocks * BigInt(maxLogWindows);
  return toBlock < span ? 0n : toBlock - span + 1n;
};

/** Searches logs backwards from `toBlock` to `oldestSearched`, window by window, oldest log first in each. */
export async function* searchLogs(
  chain: EvmChain,
  { toBlock, ...filter }: { address: string; topics: (Hex | Hex[])[]; toBlock: bigint },
): AsyncGenerator<EvmLog[]> {
  const oldest = oldestSearched(toBlock);
  for (let end = toBlock; end >= oldest; end -= logWindowBlocks) {
    const fromBlock = end - logWindowBlocks < oldest ? oldest : end - logWindowBlocks + 1n;
    yield await chain.getLogs({ ...filter, fromBlock, toBlock: end });
  }
}

/** So many transactions of a block are asked for a log that the node must know. */
const maxReceipts = 20;

/** Finds a log of a block by a receipt. `none`: no transaction of the block left one. Null: the node does not tell. */
const findKnownLog = async (
  chain: EvmChain,
  { hash, transactions }: EvmBlockContents,
): Promise<{ log: EvmLog; event: Hex } | 'none' | null> => {
  for (const transaction of transactions.slice(0, maxReceipts)) {
    const receipt = await chain.getReceipt(transaction);
    if (receipt === null || !isSameHex(receipt.blockHash, hash)) return null;
    for (const log of receipt.logs) {
      const [event] = log.topics;
      if (event !== undefined) return { log, event };
    }
  }
  return transactions.length > 0 && transactions.length <= maxReceipts ? 'none' : null;
};

/**
 * Reads all transfers of a token in a block. A node whose index is behind its blocks would find nothing, so the same
 * question also asks for a log that the block certainly has. Null when the answer lacks that log, or no log is certain.
 * Throws RpcOutage or RpcRefusal.
 */
export const readBlockTransfers = async (
  chain: EvmChain,
  { block, token }: { block: bigint; token: string },
): Promise<EvmLog[] | null> => {
  const contents = await chain.getBlockContents(block);
  const known = contents === null ? null : await findKnownLog(chain, contents);
  if (contents === null || known === null) return null;
  if (known === 'none') return [];
  const { address, transactionHash } = known.log;
  const logs = await chain.getLogs({
    address: [token, address],
    topics: [[transferEvent, known.event]],
    blockHash: contents.hash,
  });
  const isKnown = (log: EvmLog): boolean =>
    isSameHex(log.transactionHash, transactionHash) && isLogOf(log, address, [known.event]);
  return logs.some(isKnown) ? logs.filter((log) => isLogOf(log, token, [transferEvent])) : null;
};
