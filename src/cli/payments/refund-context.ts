import type { Config } from '../../config/config.ts';
import { formatCoins, type Coin, type TransferObstacle } from '../../purchases/refunds/refund-preview.ts';
import { createFindToken } from '../../purchases/token-amount.ts';
import type { Payment, PaymentRefund } from '../../store/store.ts';
import type { Session } from '../command-context.ts';
import { CommandError } from '../command-error.ts';
import { sanitizeCell } from '../format-table.ts';
import { createPaymentViews, type PaymentViews } from './views.ts';

/** The services of the refund command. */
export interface RefundContext extends Session {
  x402: Config['x402'];
  views: PaymentViews;
}

/** Throws ConfigError. */
export const openRefundContext = async (session: Session): Promise<RefundContext> => {
  const { x402 } = await session.config();
  return { ...session, x402, views: createPaymentViews(createFindToken(x402.networks)) };
};

/** A refund to plan, or the `existing` one of an earlier run. */
export interface RefundIntent {
  id: string;
  payment: Payment;
  recipient: string;
  amount: bigint;
  acceptsUnknown: boolean;
  existing: PaymentRefund | null;
}

/** The command that continues a refund, whether it was planned or not. */
export const repeatCommand = (
  refund: Pick<PaymentRefund, 'id' | 'payment' | 'network' | 'asset' | 'amount' | 'acceptsUnknown'>,
  { views }: RefundContext,
): string => {
  const amount = views.tokenAmount(refund);
  const options = `${amount === null ? '' : `--amount ${amount} `}--refund-id ${refund.id}${refund.acceptsUnknown ? ' --unknown' : ''}`;
  return `causeway payments refund ${refund.payment} ${options} --yes`;
};

/** The refusal of a refund that the configuration or the payment makes impossible. */
export const refundNotPossible = (
  why: 'not_configured' | 'unknown_token' | 'no_payer' | 'wrong_payer',
  { network, asset, payer }: Payment,
): CommandError => {
  const messages = {
    not_configured: `The payment was made on ${network}, which X402_NETWORKS does not name.`,
    unknown_token: `The payment was made in ${asset}, which is not the token that is configured for ${network}.`,
    wrong_payer: `The payment is recorded as paid by ${payer}, but another wallet signed for it, so nothing is sent. See "payments show".`,
    no_payer: 'The payer is not known, so nothing can be refunded.',
  };
  const code = why === 'not_configured' ? 'network_not_configured' : 'refund_not_possible';
  return new CommandError(code, messages[why]);
};

/** Describes the obstacle of a transfer, with the missing amount. */
export const describeObstacle = (
  obstacle: TransferObstacle,
  { payment, sender, coin, views }: { payment: Payment; sender: string; coin: Coin; views: PaymentViews },
): string => {
  const tokens = (amount: bigint): string => views.amountText({ ...payment, amount });
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
      return `The chain would refuse the transfer: ${sanitizeCell(obstacle.detail).slice(0, 300)}`;
  }
};
