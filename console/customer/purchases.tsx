import { money } from '../format.ts';
import { JobLink } from '../parts/history.tsx';
import { Moment, State, Title } from '../parts/parts.tsx';
import { CustomerTable } from '../parts/table.tsx';
import { Link } from '../router.tsx';

interface Purchase {
  id: string;
  status: string;
  amount: string | null;
  amount_units: string;
  network: string;
  credit_usd: string | null;
  job_id: string | null;
  operation: string | null;
  created_at: string;
}

export const Purchases = () => (
  <>
    <Title>Purchases</Title>
    <p class="soft">What payments of the wallet of this account bought, and what raised its balance.</p>
    <CustomerTable<Purchase>
      name="Purchases"
      path="v1/purchases"
      columns={[
        { title: 'Time', cell: ({ created_at: at }) => <Moment at={at} /> },
        { title: 'What', cell: ({ operation }) => operation ?? '–' },
        { title: 'State', cell: ({ status }) => <State name={status} /> },
        { title: 'Network', cell: ({ network }) => network, isWide: true },
        { title: 'Job', cell: ({ job_id: id }) => (id === null ? '' : <JobLink id={id} />), isWide: true },
        { title: 'Credit', cell: ({ credit_usd: credit }) => money(credit), isNumber: true, isWide: true },
        { title: 'Paid', cell: ({ amount, amount_units: units }) => amount ?? units, isNumber: true },
        {
          title: 'Receipt',
          cell: ({ id }) => <Link path={`receipts/${encodeURIComponent(id)}`}>Receipt</Link>,
        },
      ]}
      keyOf={({ id }) => id}
      missing="Wallets have no accounts on this gateway, so nothing is bought by payments."
      none="No wallet has paid for this account."
    />
  </>
);
