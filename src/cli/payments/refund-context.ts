import type { Config } from '../../config/config.ts';
import { createFindToken, formatTokenAmount, type FindToken } from '../../purchases/token-amount.ts';
import type { Payment, PaymentRefund } from '../../store/store.ts';
import type { Session } from '../command-context.ts';
import { createPaymentViews, type PaymentViews } from './views.ts';

/** What the steps of the refund command work with. */
export interface RefundDesk extends Session {
  x402: Config['x402'];
  findToken: FindToken;
  views: PaymentViews;
}

/** Throws ConfigError or CommandError. */
export const openRefundDesk = async (session: Session): Promise<RefundDesk> => {
  const { x402 } = await session.config();
  const findToken = createFindToken(x402.networks);
  return { ...session, x402, findToken, views: createPaymentViews(findToken) };
};

/** What is to be done: a refund to be planned, or one that an earlier run left. */
export interface RefundIntent {
  id: string;
  payment: Payment;
  recipient: string;
  amount: bigint;
  acceptsUnknown: boolean;
  existing: PaymentRefund | null;
}

/** The command that goes on with a refund, whether it was planned or not. */
export const goOnCommand = (
  refund: Pick<PaymentRefund, 'id' | 'payment' | 'network' | 'asset' | 'amount' | 'acceptsUnknown'>,
  { findToken }: Pick<RefundDesk, 'findToken'>,
): string => {
  const token = findToken(refund);
  const amount = token === null ? '' : ` --amount ${formatTokenAmount(refund.amount, token.decimals)}`;
  const unknown = refund.acceptsUnknown ? ' --unknown' : '';
  return `causeway payments refund ${refund.payment}${amount} --refund-id ${refund.id}${unknown} --yes`;
};

/** The same, before it is written down. */
export const beginCommand = (
  { id, payment: { identity, network, asset }, amount, acceptsUnknown }: RefundIntent,
  desk: Pick<RefundDesk, 'findToken'>,
): string => goOnCommand({ id, payment: identity, network, asset, amount, acceptsUnknown }, desk);
