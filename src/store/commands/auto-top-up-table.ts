import type { AutoTopUpState, AutoTopUpStop } from '../../rules/payments.ts';
import { columns, int64, orNull, text, type RowOf } from '../columns.ts';
import { statement, valuesOf } from '../statement.ts';

const autoTopUpFields = {
  accountId: text(),
  state: text<AutoTopUpState>(),
  /** Set exactly while it is stopped. */
  stoppedFor: orNull(text<AutoTopUpStop>()),
  /** The card is charged `amount` when the balance, holds included, is below this. */
  below: int64(),
  amount: int64(),
  /** The most that is charged in a UTC month. */
  monthlyCap: int64(),
  /** Stripe's names of the customer and the card; null until a card was saved. */
  customer: orNull(text()),
  paymentMethod: orNull(text()),
  /** The card for people, such as "visa 4242". */
  card: orNull(text()),
};
export type AutoTopUp = RowOf<typeof autoTopUpFields>;
export const autoTopUps = columns(autoTopUpFields);

export interface SavedCard {
  customer: string;
  paymentMethod: string;
  card: string;
  /** When it was charged on Stripe's page. */
  savedAt: number;
}

/**
 * Starts the automatic top-up with another card, unless the customer has ended it meanwhile, or a card that was saved later
 * is known already.
 */
export const saveCard = statement({
  text: `update auto_top_ups set state = 'on', stopped_for = null, customer = $2, payment_method = $3, card = $4,
      card_saved_at = $5
    where account_id = $1 and state <> 'off' and coalesce(card_saved_at, 0) <= $5`,
  values: valuesOf<SavedCard & { accountId: string }>(
    'accountId',
    'customer',
    'paymentMethod',
    'card',
    'savedAt',
  ),
});

/** Stops it, if the card is still that of the attempt. `paymentMethod` null: whichever card it has. */
export const stopAutoTopUp = statement({
  text: `update auto_top_ups set state = 'stopped', stopped_for = $2
    where account_id = $1 and state = 'on' and payment_method = coalesce(cast($3 as text), payment_method)`,
  values: valuesOf<{ accountId: string; stoppedFor: AutoTopUpStop; paymentMethod: string | null }>(
    'accountId',
    'stoppedFor',
    'paymentMethod',
  ),
});
