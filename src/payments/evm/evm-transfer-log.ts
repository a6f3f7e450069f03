import { toEventSelector } from 'viem';
import type { Hex } from '../core/wire.ts';
import type { EvmChain, EvmLog } from './evm-chain.ts';

/** Who is paid how much of which token, and by whom. */
export interface TokenTransfer {
  token: string;
  from: string;
  to: string;
  amount: bigint;
}

export const transferEvent = toEventSelector('Transfer(address,address,uint256)');

export const toTopic = (address: string): Hex => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
export const isSameHex = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

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

/** Most nodes answer this many blocks of logs at once. */
const logWindowBlocks = 2_000n;
const maxLogWindows = 25;

/** The oldest block that a search backwards from `toBlock` reaches. */
export const oldestSearched = (toBlock: bigint): bigint => {
  const span = logWindowBlocks * BigInt(maxLogWindows);
  return toBlock < span ? 0n : toBlock - span + 1n;
};

/** Logs backwards from `toBlock`, newest window first and oldest log first in each, as far as `oldestSearched`. */
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
