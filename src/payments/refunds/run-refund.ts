import { AppError } from '../../kit/errors.ts';
import { formatDecimal } from '../../kit/money.ts';
import { sanitizeLine } from '../../kit/text.ts';
import { isNodeTrouble } from '../chains/core/json-rpc.ts';
import type { RefundWallet, TransferObstacle, TransferPreview } from '../chains/core/refund-transfer.ts';
import type { X402Config } from '../read-x402-settings.ts';
import type { Payment } from '../../store/store.ts';
import { openRefundChain, type OpenedRefundChain } from './refund-chain.ts';
import {
  planRefund,
  readRefundIntent,
  refundNotPossible,
  type IntentContext,
  type RefundIntent,
  type WantedRefund,
} from './refund-intent.ts';
import { refundPayment, type RefundEnd } from './refund-payment.ts';

export interface RefundContext extends IntentContext {
  x402: Pick<X402Config, 'networks' | 'refundKeys'>;
}

interface RefundPreview extends Pick<TransferPreview, 'opensAccount'> {
  sender: string;
  /** The highest fee with its coin, such as `0.00001 ETH`; null when it is not known. */
  cost: string | null;
}

type CheckedRefund =
  | { outcome: 'ended'; end: RefundEnd }
  | {
      outcome: 'possible';
      intent: RefundIntent;
      opened: OpenedRefundChain;
      /** Null: only a signed transaction is left to follow, which needs neither key nor money any more. */
      preview: RefundPreview | null;
    };

/** Tells whether the refund can be made and what it costs. Changes nothing. Throws AppError if it is not possible. */
export const checkRefund = async (wanted: WantedRefund, context: RefundContext): Promise<CheckedRefund> => {
  const intent = await readRefundIntent(wanted, context);
  const { payment, existing } = intent;
  if (existing?.state === 'settled' || existing?.state === 'failed')
    return { outcome: 'ended', end: { outcome: existing.state, refund: existing } };
  const opened = await openRefundChain(context.x402.networks, payment, {
    now: () => context.clock.now(),
  });
  if (typeof opened === 'string') throw refundNotPossible(opened, payment);
  if (payment.payer === null || opened.network.family.addressProblem(payment.payer) !== null)
    throw refundNotPossible('no_payer', payment);
  const preview = existing?.state === 'sending' ? null : await previewTransfer(opened, intent, context);
  return { outcome: 'possible', intent, opened, preview };
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
  const { intent, opened } = checked;
  const planned = intent.existing ?? (await planRefund(intent, note, context));
  const { store, clock } = context;
  const { chain } = opened;
  // A client that leaves does not stop a transfer that was begun.
  const { signal } = new AbortController();
  return refundPayment(
    { store, clock, chain, signal, openWallet: () => openWallet(opened, context) },
    planned,
    intent.payment,
  );
};

/** Throws AppError, which never shows the key. */
const openWallet = async (
  { network: { family, label }, openWallet }: OpenedRefundChain,
  { x402 }: RefundContext,
): Promise<RefundWallet> => {
  const setting = `${family.settingPrefix}_REFUND_KEY`;
  const key = x402.refundKeys[family.name] ?? null;
  if (key === null)
    throw new AppError(
      'invalid_setting',
      `${setting}: must be set (or ${setting}_FILE): the key of the wallet that pays refunds on ${label}`,
    );
  return openWallet(key).catch((error: unknown) => {
    const problem = error instanceof TypeError ? error.message : 'it cannot be used';
    throw new AppError('invalid_setting', `${setting}: ${problem}`);
  });
};

const previewMs = 30_000;

const previewTransfer = async (
  opened: OpenedRefundChain,
  { id, payment, recipient, amount }: RefundIntent,
  context: RefundContext,
): Promise<RefundPreview> => {
  const wallet = await openWallet(opened, context);
  const transfer = { id, asset: payment.asset, recipient, amount };
  const preview = wallet.preview(transfer, AbortSignal.timeout(previewMs));
  const { obstacle, cost, opensAccount } = await preview.catch((error: unknown) => {
    if (!isNodeTrouble(error)) throw error;
    throw new AppError(
      'chain_unavailable',
      `The node of ${opened.network.label} gives no usable answer. Nothing was done; try again.`,
    );
  });
  if (obstacle !== null)
    throw new AppError('refund_not_possible', describeObstacle(obstacle, { payment, wallet, context }));
  return { opensAccount, sender: wallet.address, cost: cost === null ? null : coinText(cost, wallet) };
};

const coinText = (amount: bigint, { coin }: RefundWallet): string =>
  `${formatDecimal(amount, coin.decimals)} ${coin.symbol}`;

const describeObstacle = (
  obstacle: TransferObstacle,
  { payment, wallet, context }: { payment: Payment; wallet: RefundWallet; context: RefundContext },
): string => {
  const sender = wallet.address;
  const tokens = (amount: bigint): string => context.tokens.amountText({ ...payment, amount });
  const coins = (amount: bigint): string => coinText(amount, wallet);
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
