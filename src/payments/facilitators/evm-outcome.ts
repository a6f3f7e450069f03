import { decodeAbiParameters, encodeFunctionData, parseAbi, toEventSelector } from 'viem';
import type { EvmPayload, Hex, PaymentRequirements } from '../wire.ts';
import type { EvmChain, EvmLog, EvmReceipt } from './evm-chain.ts';
import type { FoundOutcome } from './facilitator.ts';

const tokenAbi = parseAbi([
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
]);
const transferEvent = toEventSelector('Transfer(address,address,uint256)');
const authorizationUsedEvent = toEventSelector('AuthorizationUsed(address,bytes32)');
const authorizationCanceledEvent = toEventSelector('AuthorizationCanceled(address,bytes32)');

/** Beyond `validBefore`, so that no block of a short fork can still hold the transfer. */
const expiryMarginSeconds = 60n;
/** Most nodes answer this many blocks of logs at once. */
const logWindowBlocks = 2_000n;
const maxLogWindows = 25;

export interface EvmOrder {
  payload: EvmPayload;
  requirements: PaymentRequirements;
}

const toTopic = (address: string): Hex => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
const isSame = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

const isTransferOf = (log: EvmLog, { payload, requirements }: EvmOrder): boolean => {
  const [event, from, to] = log.topics;
  return (
    event === transferEvent &&
    from !== undefined &&
    to !== undefined &&
    isSame(log.address, requirements.asset) &&
    isSame(from, toTopic(payload.authorization.from)) &&
    isSame(to, toTopic(requirements.payTo)) &&
    BigInt(log.data) === BigInt(requirements.amount)
  );
};

const isUseOf = (log: EvmLog, { payload, requirements }: EvmOrder): boolean => {
  const [event, from, nonce] = log.topics;
  return (
    event === authorizationUsedEvent &&
    from !== undefined &&
    nonce !== undefined &&
    isSame(log.address, requirements.asset) &&
    isSame(from, toTopic(payload.authorization.from)) &&
    isSame(nonce, payload.authorization.nonce)
  );
};

/**
 * What a receipt says of this very authorization. The token logs the use of a nonce and, right after it, the transfer
 * that it authorized; a transfer elsewhere in the transaction belongs to another authorization, however alike.
 */
const readReceipt = (receipt: EvmReceipt, order: EvmOrder): 'paid' | 'used_otherwise' | 'unclear' => {
  const { status, logs } = receipt;
  const use = status === 'success' ? logs.findIndex((log) => isUseOf(log, order)) : -1;
  if (use === -1) return 'unclear';
  const next = logs[use + 1];
  if (next !== undefined && isTransferOf(next, order)) return 'paid';
  return logs.some((log) => isTransferOf(log, order)) ? 'unclear' : 'used_otherwise';
};

/** Whether that receipt shows the money of this authorization arriving at the seller. */
export const isPaidBy = (receipt: EvmReceipt, order: EvmOrder): boolean =>
  readReceipt(receipt, order) === 'paid';

/** The newest log that says what became of the authorization, looked for backwards from `toBlock`. */
const findAuthorizationLog = async (
  chain: EvmChain,
  order: EvmOrder,
  toBlock: bigint,
): Promise<EvmLog | null> => {
  const { from, nonce } = order.payload.authorization;
  let end = toBlock;
  for (let window = 0; window < maxLogWindows && end >= 0n; window += 1) {
    const start = end < logWindowBlocks ? 0n : end - logWindowBlocks + 1n;
    const logs = await chain.getLogs({
      address: order.requirements.asset,
      topics: [[authorizationUsedEvent, authorizationCanceledEvent], [toTopic(from)], [nonce]],
      fromBlock: start,
      toBlock: end,
    });
    const found = logs.at(-1);
    if (found !== undefined) return found;
    end = start - 1n;
  }
  return null;
};

const explainUsed = async (chain: EvmChain, order: EvmOrder, block: bigint): Promise<FoundOutcome> => {
  const log = await findAuthorizationLog(chain, order, block);
  if (log === null) return { outcome: 'unknown', reason: 'authorization_used' };
  if (log.topics[0] === authorizationCanceledEvent)
    return { outcome: 'failed', reason: 'authorization_canceled' };
  const receipt = await chain.getReceipt(log.transactionHash);
  switch (receipt === null ? 'unclear' : readReceipt(receipt, order)) {
    case 'paid':
      return { outcome: 'settled', transaction: log.transactionHash };
    case 'used_otherwise':
      return { outcome: 'failed', reason: 'invalid_exact_evm_nonce_already_used' };
    case 'unclear':
      return { outcome: 'unknown', reason: 'authorization_used' };
  }
};

/**
 * What the chain says of an authorized transfer. The token remembers the authorization's nonce for ever, so
 * "not used" at a block past its `validBefore` proves that nobody was or will be charged. Throws RpcOutage or
 * RpcRefusal.
 */
export const findEvmOutcome = async (
  chain: EvmChain,
  order: EvmOrder,
  transaction: string | null,
): Promise<FoundOutcome> => {
  const receipt = transaction === null ? null : await chain.getReceipt(transaction);
  if (transaction !== null && receipt !== null && isPaidBy(receipt, order))
    return { outcome: 'settled', transaction };
  const { from, nonce, validBefore } = order.payload.authorization;
  const block = await chain.getBlock();
  const state = await chain.call({
    to: order.requirements.asset,
    data: encodeFunctionData({
      abi: tokenAbi,
      functionName: 'authorizationState',
      args: [from, nonce],
    }),
    block: block.number,
  });
  const [isUsed] = decodeAbiParameters([{ type: 'bool' }], state);
  if (isUsed) return explainUsed(chain, order, block.number);
  if (block.timestamp > BigInt(validBefore) + expiryMarginSeconds)
    return { outcome: 'failed', reason: 'invalid_exact_evm_payload_authorization_valid_before' };
  // A node behind the one that gave the receipt has not seen what came before it.
  if (receipt?.status === 'reverted' && block.number >= receipt.blockNumber)
    return { outcome: 'failed', reason: 'invalid_exact_evm_transaction_failed' };
  return { outcome: 'open' };
};

/** The same, with a chain that cannot be asked as one more way of not knowing. */
export const askEvmOutcome = async (
  chain: EvmChain,
  order: EvmOrder,
  transaction: string | null,
): Promise<FoundOutcome> => {
  try {
    return await findEvmOutcome(chain, order, transaction);
  } catch {
    return { outcome: 'unknown', reason: 'rpc_unavailable' };
  }
};
