import { askEvmOutcome, isPaidBy, type EvmOrder } from './evm-outcome.ts';
import type { EvmChain } from './evm-chain.ts';
import type { EvmCallRecord } from './evm-signer.ts';
import { toReasonCode, type SettleOutcome } from './facilitator.ts';

const nonceUsed = 'invalid_exact_evm_nonce_already_used';

const revertReasons: [RegExp, string][] = [
  [/exceeds balance|insufficient balance/i, 'invalid_exact_evm_insufficient_balance'],
  [/authorization is used/i, nonceUsed],
  [/authorization is expired/i, 'invalid_exact_evm_payload_authorization_valid_before'],
  [/authorization is not yet valid/i, 'invalid_exact_evm_payload_authorization_valid_after'],
  [/invalid signature/i, 'invalid_exact_evm_signature'],
];

/** The scheme's reason, sharpened by the contract's own words where the scheme only says that it failed. */
export const refineReason = (reason: string | undefined, { revert }: EvmCallRecord): string => {
  const code = toReasonCode(reason, 'invalid_exact_evm_payload');
  const isVague = code.endsWith('_simulation_failed') || code.endsWith('_transaction_failed');
  if (revert === null || !isVague) return code;
  return revertReasons.find(([pattern]) => pattern.test(revert))?.[1] ?? code;
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
  const refused = refineReason(reason, record);
  // Used although it was free a moment ago: somebody else handed it in, and the money may be here.
  if (refused !== nonceUsed) return { outcome: 'failed', reason: refused, transaction: null };
  const found = await askEvmOutcome(chain, order, null);
  switch (found.outcome) {
    case 'settled':
      return { ...found, payer: order.payload.authorization.from };
    case 'open':
      // One node says used and another, behind it, free: that proves nothing.
      return { outcome: 'unknown', reason: 'authorization_used', transaction: null };
    case 'failed':
    case 'unknown':
      return { ...found, transaction: null };
  }
};

/** What a settlement came to. Only the chain's own records count; a missing one leaves it unknown. */
export const judgeSettlement = async (order: EvmOrder, evidence: SettleEvidence): Promise<SettleOutcome> => {
  const { sent, receipt } = evidence.record;
  if (sent === null) return judgeUnsent(order, evidence);
  const { transaction } = sent;
  const payer = order.payload.authorization.from;
  if (receipt === null) {
    const reason = sent.result === 'refused' ? 'transaction_not_accepted' : 'settlement_pending';
    return { outcome: 'unknown', reason, transaction };
  }
  if (isPaidBy(receipt, order)) return { outcome: 'settled', transaction, payer };
  const found = await askEvmOutcome(evidence.chain, order, transaction);
  if (found.outcome === 'settled') return { ...found, payer };
  if (found.outcome === 'open') return { outcome: 'unknown', reason: 'transfer_not_found', transaction };
  return { ...found, transaction };
};
