import {
  toReasonCode,
  toSettleOutcome,
  type FoundOutcome,
  type PaymentOrder,
  type SettleOutcome,
} from '../core/facilitator.ts';
import { RpcOutage } from '../core/json-rpc.ts';
import { createEip3009Authorization, type EvmAuthorization } from './evm-authorization.ts';
import type { EvmChain } from './evm-chain.ts';
import { toEvmPayload } from './evm-payload.ts';
import { createPermit2Authorization } from './permit2-authorization.ts';
import type { EvmCallRecord } from './evm-signer.ts';

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

interface Evidence {
  record: EvmCallRecord;
  reason: string | undefined;
  /** For questions after the settlement, so it is not bound by the settlement's time-out. */
  chain: EvmChain;
}

/** Refines a vague reason of the scheme by the contract's own words, else by a look at the buyer's account. */
export const refineReason = async (
  order: PaymentOrder,
  { record, reason, chain }: Evidence,
): Promise<string> => {
  // The scheme appends the node's words, which must not be shown.
  const code = toReasonCode(reason?.split(':')[0], 'invalid_exact_evm_payload');
  const isVague = code.endsWith('_simulation_failed') || code.endsWith('_transaction_failed');
  if (record.revert === null || !isVague) return code;
  const authorization = authorizationOf(order);
  // A look that fails changes nothing: the refusal stands.
  const diagnose = () => authorization.diagnose(chain).catch(() => null);
  return authorization.explainRevert(record.revert) ?? (await diagnose()) ?? code;
};

const judgeUnsent = async (order: PaymentOrder, evidence: Evidence): Promise<SettleOutcome> => {
  if (evidence.record.isOutage) return { outcome: 'unavailable', reason: 'rpc_unavailable' };
  const { usedReason } = authorizationOf(order);
  const reason = await refineReason(order, evidence);
  // The nonce was free a moment ago, so another party used the authorization, and the money may be here.
  if (reason !== usedReason) return { outcome: 'failed', reason, transaction: null };
  const found = await askEvmOutcome(evidence.chain, order, null);
  // One node says used, and another one, which is behind, says free: then nothing is proven.
  return toSettleOutcome(found, { openReason: 'authorization_used' });
};

/**
 * Judges the outcome of a settlement by the chain's own records. A missing record leaves it unknown, and so does a
 * reverted transaction whose authorization is still good.
 */
export const judgeSettlement = async (order: PaymentOrder, evidence: Evidence): Promise<SettleOutcome> => {
  const { sent, receipt } = evidence.record;
  if (sent === null) return judgeUnsent(order, evidence);
  const { transaction } = sent;
  if (receipt === null) {
    const reason = sent.result === 'refused' ? 'transaction_not_accepted' : 'settlement_pending';
    return { outcome: 'unknown', reason, transaction };
  }
  const { chain } = evidence;
  // A node that does not answer is asked in another way below.
  const isPaid = await authorizationOf(order)
    .isPaidBy(chain, { transaction, receipt })
    .catch(() => false);
  if (isPaid) return { outcome: 'settled', transaction };
  const found = await askEvmOutcome(chain, order, transaction);
  const isReverted = receipt.status === 'reverted';
  const openReason = isReverted ? 'transaction_reverted' : 'transfer_not_found';
  const ended = toSettleOutcome(found, { openReason, transaction });
  return isReverted && ended.outcome !== 'settled' ? { ...ended, isReverted } : ended;
};
