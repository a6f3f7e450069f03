import type { EvmPayload, PaymentRequirements } from '../core/wire.ts';
import { createEip3009Authorization } from './eip3009-authorization.ts';
import type { EvmAuthorization, MinedTransaction } from './evm-authorization.ts';
import type { EvmChain } from './evm-chain.ts';
import type { FoundOutcome } from '../core/facilitator.ts';
import { RpcOutage } from '../core/json-rpc.ts';
import { createPermit2Authorization } from './permit2-authorization.ts';

/** Beyond `validBefore`, so that no block of a short fork can still hold the transfer. */
const expiryMarginSeconds = 60n;

export interface EvmOrder {
  payload: EvmPayload;
  requirements: PaymentRequirements;
}

export const authorizationOf = ({ payload, requirements }: EvmOrder): EvmAuthorization =>
  'authorization' in payload
    ? createEip3009Authorization(payload, requirements)
    : createPermit2Authorization(payload, requirements);

/** Whether that transaction shows the money of this payment arriving at the seller. Throws RpcOutage or RpcRefusal. */
export const isPaidBy = (chain: EvmChain, order: EvmOrder, mined: MinedTransaction): Promise<boolean> =>
  authorizationOf(order).isPaidBy(chain, mined);

/**
 * What the chain says of an authorized transfer. It remembers the authorization's nonce for ever, so "not used" at a
 * block past its `validBefore`, and nothing before that, proves that nobody was or will be charged. Throws RpcOutage
 * or RpcRefusal.
 */
export const findEvmOutcome = async (
  chain: EvmChain,
  order: EvmOrder,
  transaction: string | null,
): Promise<FoundOutcome> => {
  const authorization = authorizationOf(order);
  const receipt = transaction === null ? null : await chain.getReceipt(transaction);
  if (
    transaction !== null &&
    receipt !== null &&
    (await authorization.isPaidBy(chain, { transaction, receipt }))
  )
    return { outcome: 'settled', transaction };
  const [block, chainId] = await Promise.all([chain.getBlock(), chain.chainId()]);
  // On another chain nothing is used, and a misconfigured node must not prove that nobody was charged.
  if (`eip155:${chainId}` !== order.requirements.network)
    throw new RpcOutage('the node serves another chain');
  if (await authorization.isUsed(chain, block.number)) return authorization.explainUse(chain, block.number);
  if (block.timestamp > authorization.validBefore + expiryMarginSeconds)
    return { outcome: 'failed', reason: authorization.expiredReason };
  // Also after a revert: anybody can hand in what that transaction showed to all, and another of ours may carry it.
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
