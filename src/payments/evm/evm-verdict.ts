import type { EvmAuthorization } from './evm-authorization.ts';
import { askEvmOutcome, authorizationOf, isPaidBy, type EvmOrder } from './evm-outcome.ts';
import type { EvmChain } from './evm-chain.ts';
import type { EvmCallRecord } from './evm-signer.ts';
import { toReasonCode, type SettleOutcome } from '../core/facilitator.ts';

/**
 * The scheme's reason, sharpened where the scheme only says that it failed: by the contract's own words, else by a look
 * at the buyer's account.
 */
export const refineReason = async (
  reason: string | undefined,
  {
    record,
    authorization,
    chain,
  }: { record: EvmCallRecord; authorization: EvmAuthorization; chain: EvmChain },
): Promise<string> => {
  // The scheme appends a node's words, which are not for showing.
  const code = toReasonCode(reason?.split(':')[0], 'invalid_exact_evm_payload');
  const isVague = code.endsWith('_simulation_failed') || code.endsWith('_transaction_failed');
  if (record.revert === null || !isVague) return code;
  const explained = authorization.explainRevert(record.revert);
  if (explained !== null) return explained;
  // Only to tell it better: the refusal stands.
  return (await authorization.diagnose(chain).catch(() => null)) ?? code;
};

interface SettleEvidence {
  record: EvmCallRecord;
  /** The scheme's own reason, if it gave one. */
  reason: string | undefined;
  /** For questions after the settlement, so not bound to its time-out. */
  chain: EvmChain;
}

const judgeUnsent = async (
  order: EvmOrder,
  { record, reason, chain }: SettleEvidence,
): Promise<SettleOutcome> => {
  if (record.isOutage) return { outcome: 'unavailable', reason: 'rpc_unavailable' };
  const authorization = authorizationOf(order);
  const refused = await refineReason(reason, { record, authorization, chain });
  // Used although it was free a moment ago: somebody else handed it in, and the money may be here.
  if (refused !== authorization.usedReason) return { outcome: 'failed', reason: refused, transaction: null };
  const found = await askEvmOutcome(chain, order, null);
  switch (found.outcome) {
    case 'settled':
      return { ...found, payer: authorization.payer };
    case 'open':
      // One node says used and another, behind it, free: that proves nothing.
      return { outcome: 'unknown', reason: 'authorization_used', transaction: null };
    case 'failed':
    case 'unknown':
      return { ...found, transaction: null };
  }
};

/**
 * What a settlement came to. Only the chain's own records count; a missing one leaves it unknown, and so does a
 * transaction that was reverted, while the authorization in it is good.
 */
export const judgeSettlement = async (order: EvmOrder, evidence: SettleEvidence): Promise<SettleOutcome> => {
  const { sent, receipt } = evidence.record;
  if (sent === null) return judgeUnsent(order, evidence);
  const { transaction } = sent;
  const { payer } = authorizationOf(order);
  if (receipt === null) {
    const reason = sent.result === 'refused' ? 'transaction_not_accepted' : 'settlement_pending';
    return { outcome: 'unknown', reason, transaction };
  }
  const { chain } = evidence;
  // A node that does not answer is asked again below, in another way.
  const isPaid = await isPaidBy(chain, order, { transaction, receipt }).catch(() => false);
  if (isPaid) return { outcome: 'settled', transaction, payer };
  const found = await askEvmOutcome(chain, order, transaction);
  if (found.outcome === 'settled') return { ...found, payer };
  if (found.outcome === 'open') {
    const reason = receipt.status === 'reverted' ? 'transaction_reverted' : 'transfer_not_found';
    return { outcome: 'unknown', reason, transaction };
  }
  return { ...found, transaction };
};
