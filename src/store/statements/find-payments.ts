import type { CommandInput } from '../commands.ts';
import { paymentColumns, toPayment, type PaymentRow } from '../rows.ts';
import type { Payment } from '../store.ts';
import { eachOf, type Statement } from './statement.ts';

/** Names of payments are printable ASCII, so every name with a prefix sorts between the prefix and the prefix plus this. */
const afterEveryName = '\u007f';

export const findPaymentsByTransaction: Statement<
  CommandInput<'findPaymentsByTransaction'>,
  PaymentRow,
  Payment[]
> = {
  name: 'find_payments_by_transaction',
  text: () => `select ${paymentColumns} from payments where transaction_name = $1 order by identity limit $2`,
  values: ({ transaction, limit }) => [transaction, limit],
  read: eachOf(toPayment),
};

const beginningBy = (column: 'identity' | 'reference' | 'transaction_name'): string =>
  `select * from (
    select identity from payments where ${column} >= $1 and ${column} < $2 order by ${column} limit $3
  ) as by_${column}`;

export const findPaymentsByPrefix: Statement<CommandInput<'findPaymentsByPrefix'>, PaymentRow, Payment[]> = {
  name: 'find_payments_by_prefix',
  text: () => `select ${paymentColumns} from payments where identity in (
      ${beginningBy('identity')} union ${beginningBy('reference')} union ${beginningBy('transaction_name')}
    )
    order by identity`,
  values: ({ prefix, limit }) => [prefix, prefix + afterEveryName, limit],
  read: eachOf(toPayment),
};
