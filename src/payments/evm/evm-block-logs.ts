import type { EvmBlockContents, EvmChain, EvmLog } from './evm-chain.ts';
import { isSameHex } from './evm-transfer-log.ts';
import type { Hex } from '../core/wire.ts';

/** So many of a block's transactions are asked for a log that its node must know. */
const maxReceipts = 20;

type KnownLog = EvmLog & { topics: [Hex, ...Hex[]] };

const hasTopic = (log: EvmLog): log is KnownLog => log.topics.length > 0;

/** A log of that block by a receipt; `none` when no transaction of it left one; null when the node does not tell. */
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
 * The logs of one event of one contract in a block that holds a transaction. Nodes may answer from an index that is
 * behind their blocks, and find nothing in it that is there. Therefore the same question also asks for a log that the
 * block has for certain. Null when the answer lacks that one, or nothing is certain. Throws RpcOutage or RpcRefusal.
 */
export const readBlockLogs = async (
  chain: EvmChain,
  { block, address, event }: { block: bigint; address: string; event: Hex },
): Promise<EvmLog[] | null> => {
  const contents = await chain.getBlockContents(block);
  const known = contents === null ? null : await findKnownLog(chain, contents);
  if (contents === null || known === null) return null;
  if (known === 'none') return [];
  const logs = await chain.getLogs({
    address: [address, known.address],
    topics: [[event, known.topics[0]]],
    blockHash: contents.hash,
  });
  const isKnown = (log: EvmLog): boolean =>
    isSameHex(log.transactionHash, known.transactionHash) &&
    isSameHex(log.address, known.address) &&
    log.topics[0] === known.topics[0];
  if (!logs.some(isKnown)) return null;
  return logs.filter((log) => isSameHex(log.address, address) && log.topics[0] === event);
};
