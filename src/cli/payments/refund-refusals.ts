import { formatCoins, type Coin, type TransferObstacle } from '../../purchases/refunds/refund-preview.ts';
import type { Payment } from '../../store/store.ts';
import { CommandError } from '../command-error.ts';
import { printable } from '../printable.ts';
import type { PaymentViews } from './views.ts';

/** Why a payment cannot be given back at all as things are set up. */
export const refundNotPossible = (
  why: 'not_configured' | 'unknown_token' | 'no_payer' | 'wrong_payer',
  { network, asset, payer }: Payment,
): CommandError => {
  switch (why) {
    case 'not_configured':
      return new CommandError(
        'network_not_configured',
        `The payment was made on ${network}, which X402_NETWORKS does not name.`,
      );
    case 'unknown_token':
      return new CommandError(
        'refund_not_possible',
        `The payment was made in ${asset}, which is not the token that is configured for ${network}.`,
      );
    case 'wrong_payer':
      return new CommandError(
        'refund_not_possible',
        `The payment is recorded as paid by ${payer}, and another wallet signed for it, so nothing is sent. See "payments show".`,
      );
    case 'no_payer':
      return new CommandError('refund_not_possible', 'Who paid is not known, so nothing can be sent back.');
  }
};

/** What stands in the way of a transfer, with what is missing. */
export const describeObstacle = (
  obstacle: TransferObstacle,
  { payment, sender, coin, views }: { payment: Payment; sender: string; coin: Coin; views: PaymentViews },
): string => {
  const tokens = (amount: bigint): string => views.amountText({ ...payment, amount });
  switch (obstacle.kind) {
    case 'wrong_chain':
      return `The RPC that is configured for ${payment.network} serves ${obstacle.actual}. Nothing was done.`;
    case 'too_few_tokens':
      return (
        `The refund wallet ${sender} has ${tokens(obstacle.has)}, and ${tokens(obstacle.needs)} are needed: ` +
        `${tokens(obstacle.needs - obstacle.has)} are missing.`
      );
    case 'too_few_coins':
      return (
        `The refund wallet ${sender} has ${formatCoins(obstacle.has, coin)} for fees, and may need ` +
        `${formatCoins(obstacle.needs, coin)}: ${formatCoins(obstacle.needs - obstacle.has, coin)} are missing.`
      );
    case 'fees_too_high':
      return (
        `The fees may come to ${formatCoins(obstacle.needs, coin)} now, above the limit of ` +
        `${formatCoins(obstacle.limit, coin)}. Try again later.`
      );
    case 'refused':
      return `The chain would refuse the transfer: ${printable(obstacle.detail).slice(0, 300)}`;
  }
};
