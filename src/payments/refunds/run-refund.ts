import { AppError } from '../../kit/errors.ts';
import { sanitizeLine } from '../../kit/sanitize-line.ts';
import type { X402Config } from '../read-x402-settings.ts';
import type { Payment } from '../../store/store.ts';
import {
  planRefund,
  readRefundIntent,
  refundNotPossible,
  type IntentContext,
  type RefundIntent,
  type WantedRefund,
} from './refund-intent.ts';
import { createRefunding, type RefundEnd } from './refund-payment.ts';
import { findRefundPlace, type RefundPlace } from './refund-chain.ts';
import {
  formatCoins,
  previewRefund,
  type RefundPreview,
  type RefundWallet,
  type TransferObstacle,
} from './refund-preview.ts';

export interface RefundContext extends IntentContext {
  x402: Pick<X402Config, 'networks' | 'refundKeys'>;
}

type FoundPlace = Extract<RefundPlace, { outcome: 'found' }>;

/** A refund that can be made now, or has ended. */
type CheckedRefund =
  | { outcome: 'ended'; end: RefundEnd }
  | {
      outcome: 'possible';
      intent: RefundIntent;
      place: FoundPlace;
      /** Null: only a signed transaction is left to follow, which needs neither key nor money any more. */
      preview: RefundPreview | null;
    };

/** Tells whether the refund can be made and what it costs. Changes nothing. Throws AppError if it is not possible. */
export const checkRefund = async (wanted: WantedRefund, context: RefundContext): Promise<CheckedRefund> => {
  const intent = await readRefundIntent(wanted, context);
  const { payment, existing } = intent;
  if (existing?.state === 'settled' || existing?.state === 'failed')
    return { outcome: 'ended', end: { outcome: existing.state, refund: existing } };
  const place = await findRefundPlace(context.x402, payment, () => context.clock.now());
  if (place.outcome !== 'found') throw refundNotPossible(place.outcome, payment);
  const preview = existing?.state === 'sending' ? null : await previewTransfer(place, intent, context);
  return { outcome: 'possible', intent, place, preview };
};

/**
 * Refunds a payment, and goes on where an earlier call with the same id ended: one transaction per refund. Throws AppError
 * if it is not possible, before anything is stored.
 */
export const runRefund = async (
  { note, ...wanted }: WantedRefund & { note: string | null },
  context: RefundContext,
): Promise<RefundEnd> => {
  const checked = await checkRefund(wanted, context);
  if (checked.outcome === 'ended') return checked.end;
  const { intent, place } = checked;
  const planned = intent.existing ?? (await planRefund(intent, note, context));
  const { store, clock } = context;
  const run = createRefunding({
    store,
    clock,
    chain: place.opened.chain,
    openWallet: () => openWallet(place),
  });
  // A client that leaves does not stop a transfer that was begun.
  return run(planned, intent.payment, new AbortController().signal);
};

/** Throws AppError, which never shows the key. */
const openWallet = async ({ openWallet, keySetting, label }: FoundPlace): Promise<RefundWallet> => {
  const wallet = await openWallet().catch((error: unknown) => {
    const problem = error instanceof TypeError ? error.message : 'it cannot be used';
    throw new AppError('invalid_setting', `${keySetting}: ${problem}`);
  });
  if (wallet === null)
    throw new AppError(
      'invalid_setting',
      `${keySetting}: must be set (or ${keySetting}_FILE): the key of the wallet that pays refunds on ${label}`,
    );
  return wallet;
};

const previewTransfer = async (
  place: FoundPlace,
  { id, payment, recipient, amount }: RefundIntent,
  context: RefundContext,
): Promise<RefundPreview> => {
  const wallet = await openWallet(place);
  const found = await previewRefund(wallet, { id, asset: payment.asset, recipient, amount });
  if (found === null)
    throw new AppError(
      'chain_unavailable',
      `The node of ${place.label} gives no usable answer. Nothing was done; try again.`,
    );
  const { obstacle, sender } = found;
  if (obstacle === null) return found;
  throw new AppError('refund_not_possible', describeObstacle(obstacle, { payment, sender, wallet, context }));
};

/** Describes the obstacle of a transfer, with the missing amount. */
const describeObstacle = (
  obstacle: TransferObstacle,
  {
    payment,
    sender,
    wallet: { coin },
    context,
  }: { payment: Payment; sender: string; wallet: RefundWallet; context: RefundContext },
): string => {
  const tokens = (amount: bigint): string => context.tokens.amountText({ ...payment, amount });
  const coins = (amount: bigint): string => formatCoins(amount, coin);
  switch (obstacle.kind) {
    case 'wrong_chain':
      return `The RPC that is configured for ${payment.network} serves ${obstacle.actual}. Nothing was done.`;
    case 'too_few_tokens':
      return `The refund wallet ${sender} has ${tokens(obstacle.has)}, and ${tokens(obstacle.needs)} are needed: ${tokens(obstacle.needs - obstacle.has)} are missing.`;
    case 'too_few_coins':
      return `The refund wallet ${sender} has ${coins(obstacle.has)} for fees, and may need ${coins(obstacle.needs)}: ${coins(obstacle.needs - obstacle.has)} are missing.`;
    case 'fees_too_high':
      return `The fees may now be ${coins(obstacle.needs)}, above the limit of ${coins(obstacle.limit)}. Try again later.`;
    case 'refused':
      return `The chain would refuse the transfer: ${sanitizeLine(obstacle.detail).slice(0, 300)}`;
  }
};
