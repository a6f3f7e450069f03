import { money } from '../format.ts';
import { AccountLink } from '../parts/history.tsx';
import { Moment, State, Title } from '../parts/parts.tsx';
import { PagedTable, type Column } from '../parts/table.tsx';

interface CardPayment {
  id: string;
  account_id: string;
  kind: string;
  state: string;
  amount_usd: string;
  kept_usd: string;
  owed_usd: string;
  payment_intent: string | null;
  created_at: string;
}

const columns: Column<CardPayment>[] = [
  { title: 'Created', cell: ({ created_at: at }) => <Moment at={at} /> },
  { title: 'Account', cell: ({ account_id: id }) => <AccountLink id={id} /> },
  { title: 'Kind', cell: ({ kind }) => kind, isWide: true },
  { title: 'State', cell: ({ state }) => <State name={state} /> },
  { title: 'At Stripe', cell: ({ payment_intent: intent }) => intent ?? '–', isWide: true },
  { title: 'Amount', cell: ({ amount_usd: usd }) => money(usd), isNumber: true },
  { title: 'Kept', cell: ({ kept_usd: usd }) => money(usd), isNumber: true, isWide: true },
  { title: 'Owed', cell: ({ owed_usd: usd }) => money(usd), isNumber: true, isWide: true },
];

/** The payments by card of all accounts. */
export const CardPayments = () => (
  <>
    <Title>Card payments</Title>
    <PagedTable<CardPayment>
      name="Card payments"
      path="admin/v1/card-payments"
      member="payments"
      pageField="before"
      columns={columns}
      keyOf={({ id }) => id}
      none="Nobody has paid by card yet."
    />
  </>
);
