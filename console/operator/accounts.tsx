import type { Account } from '../answers.ts';
import { money } from '../format.ts';
import { Moment, State, Title } from '../parts/parts.tsx';
import { PagedTable } from '../parts/table.tsx';
import { Link } from '../router.tsx';

export const Accounts = () => (
  <>
    <Title>Accounts</Title>
    <PagedTable<Account>
      name="Accounts"
      path="admin/v1/accounts"
      member="accounts"
      columns={[
        { title: 'Account', cell: ({ id, name }) => <Link path={`operator/accounts/${id}`}>{name}</Link> },
        { title: 'State', cell: ({ status }) => <State name={status} /> },
        { title: 'Money', cell: ({ sandbox }) => (sandbox ? 'sandbox' : 'real'), isWide: true },
        { title: 'Since', cell: ({ created_at: at }) => <Moment at={at} />, isWide: true },
        { title: 'Held', cell: ({ held_usd: held }) => money(held), isNumber: true, isWide: true },
        { title: 'Balance', cell: ({ balance_usd: balance }) => money(balance), isNumber: true },
      ]}
      keyOf={({ id }) => id}
      none="There are no accounts."
    />
  </>
);
