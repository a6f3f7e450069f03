import { encodeFunctionData, parseAbi, toEventSelector, type Hex } from 'viem';
import { RpcOutage } from '../core/json-rpc.ts';
import type { EvmBlockContents, EvmChain, EvmLog } from './evm-chain.ts';
import { isSameHex } from './evm-payload.ts';

/** A movement of tokens. */
export interface TokenTransfer {
  token: string;
  from: string;
  to: string;
  amount: bigint;
}

const abi = parseAbi([
  'function transfer(address to, uint256 value) returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
]);
export const transferEvent = toEventSelector('Transfer(address,address,uint256)');

/** Types an address. Throws TypeError for any other text, which is a fault of ours. */
const toAddress = (address: string): Hex => {
  if (!/^0x[0-9a-fA-F]{40}$/.test(address)) throw new TypeError(`${address} is no EVM address`);
  return `0x${address.slice(2)}`;
};

/** Returns the call to the token that makes a transfer. */
export const encodeTransfer = (transfer: {
  asset: string;
  recipient: string;
  amount: bigint;
}): { to: Hex; data: Hex } => ({
  to: toAddress(transfer.asset),
  data: encodeFunctionData({
    abi,
    functionName: 'transfer',
    args: [toAddress(transfer.recipient), transfer.amount],
  }),
});

/** Throws RpcOutage or RpcRefusal. */
export const readTokenBalance = async (
  chain: EvmChain,
  { asset, owner }: { asset: string; owner: string },
): Promise<bigint> => {
  const data = encodeFunctionData({ abi, functionName: 'balanceOf', args: [toAddress(owner)] });
  const answer = await chain.call({ to: asset, data });
  if (!/^0x[0-9a-f]{64}$/i.test(answer)) throw new RpcOutage('the node answered balanceOf with no balance');
  return BigInt(answer);
};

export const toTopic = (address: string): Hex => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;

export const isTransferLog = (log: EvmLog, transfer: TokenTransfer): boolean => {
  const [event, from, to] = log.topics;
  return (
    event === transferEvent &&
    from !== undefined &&
    to !== undefined &&
    isSameHex(log.address, transfer.token) &&
    isSameHex(from, toTopic(transfer.from)) &&
    isSameHex(to, toTopic(transfer.to)) &&
    log.data.length > 2 &&
    BigInt(log.data) === transfer.amount
  );
};

/** Most nodes answer for so many blocks at once. */
const logWindowBlocks = 2_000n;
const maxLogWindows = 25;

/** Returns the oldest block that a search backwards from `toBlock` reaches. */
export const oldestSearched = (toBlock: bigint): bigint => {
  const span = logWindowBlocks * BigInt(maxLogWindows);
  return toBlock < span ? 0n : toBlock - span + 1n;
};

/** Searches logs backwards from `toBlock` to `oldestSearched`, window by window, oldest log first in each. */
export async function* searchLogs(
  chain: EvmChain,
  filter: { address: string; topics: (Hex | Hex[])[]; toBlock: bigint },
): AsyncGenerator<EvmLog[]> {
  const { address, topics, toBlock } = filter;
  const oldest = oldestSearched(toBlock);
  for (let end = toBlock; end >= oldest; end -= logWindowBlocks) {
    const fromBlock = end - logWindowBlocks < oldest ? oldest : end - logWindowBlocks + 1n;
    yield await chain.getLogs({ address, topics, fromBlock, toBlock: end });
  }
}

/** So many transactions of a block are asked for a log that the node must know. */
const maxReceipts = 20;

type KnownLog = EvmLog & { topics: [Hex, ...Hex[]] };

const hasTopic = (log: EvmLog): log is KnownLog => log.topics.length > 0;

/** Finds a log of a block by a receipt. `none`: no transaction of the block left one. Null: the node does not tell. */
const findKnownLog = async (
  chain: EvmChain,
  { hash, transactions }: EvmBlockContents,
): Promise<KnownLog | 'none' | null> => {
  for (const transaction of transactions.slice(0, maxReceipts)) {
    const receipt = await chain.getReceipt(transaction);
    if (receipt === null || !isSameHex(receipt.blockHash, hash)) return null;
    const known = receipt.logs.find(hasTopic);
    if (known !== undefined) return known;
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
  const logs = await chain.getLogs({
    address: [token, known.address],
    topics: [[transferEvent, known.topics[0]]],
    blockHash: contents.hash,
  });
  const isKnown = (log: EvmLog): boolean =>
    isSameHex(log.transactionHash, known.transactionHash) &&
    isSameHex(log.address, known.address) &&
    log.topics[0] === known.topics[0];
  if (!logs.some(isKnown)) return null;
  return logs.filter((log) => isSameHex(log.address, token) && log.topics[0] === transferEvent);
};
