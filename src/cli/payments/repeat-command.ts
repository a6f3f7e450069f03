import type { TokenTexts } from '../../purchases/token-amount.ts';
import type { PaymentRefund } from '../../store/store.ts';

/** The command that continues a refund, whether it was planned or not. */
export const repeatCommand = (
  refund: Pick<PaymentRefund, 'id' | 'payment' | 'network' | 'asset' | 'amount' | 'acceptsUnknown'>,
  { tokenAmount }: TokenTexts,
): string => {
  const amount = tokenAmount(refund);
  const options = `${amount === null ? '' : `--amount ${amount} `}--refund-id ${refund.id}${refund.acceptsUnknown ? ' --unknown' : ''}`;
  return `causeway payments refund ${refund.payment} ${options} --yes`;
};
