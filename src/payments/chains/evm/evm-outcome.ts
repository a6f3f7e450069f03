import type { FoundOutcome, PaymentOrder } from '../core/facilitator.ts';
import { RpcOutage } from '../core/json-rpc.ts';
import { createEip3009Authorization } from './eip3009-authorization.ts';
import type { EvmAuthorization } from './evm-authorization.ts';
import type { EvmChain } from './evm-chain.ts';
import { toEvmPayload } from './evm-payload.ts';
import { createPermit2Authorization } from './permit2-authorization.ts';

/** Beyond `validBefore`, so that no block of a short fork can still hold the transfer. */
const expiryMarginSeconds = 60n;

export const authorizationOf = ({ payload, ...order }: PaymentOrder): EvmAuthorization => {
  const signed = toEvmPayload(payload.payload);
  return 'authorization' in signed
    ? createEip3009Authorization(signed, order.requirements)
    : createPermit2Authorization(signed, order);
};

/**
 * Asks the chain for the outcome of an authorized transfer. The chain remembers the authorization's nonce for ever, so
 * only "not used" at a block past its `validBefore` proves that nobody was or will be charged. Throws RpcOutage or
 * RpcRefusal.
 */
export const findEvmOutcome = async (
  chain: EvmChain,
  order: PaymentOrder,
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
  // Also after a revert: anybody can hand in the authorization that everybody saw, and so can another transaction of
  // ours.
  return { outcome: 'open' };
};

/** Does the same, and returns `unknown` when the chain cannot be asked. */
export const askEvmOutcome = (...question: Parameters<typeof findEvmOutcome>): Promise<FoundOutcome> =>
  findEvmOutcome(...question).catch(() => ({ outcome: 'unknown', reason: 'rpc_unavailable' }));
