import type { Payment } from '../answers.ts';
import { Filters } from '../parts/filters.tsx';
import { AccountLink, JobLink, toFact } from '../parts/history.tsx';
import { Choice, Facts, Moment, Problem, Shown, State, Title } from '../parts/parts.tsx';
import { PagedTable, Table, type Column } from '../parts/table.tsx';
import { refundColumns, Refunds, type Refund } from './refunds.tsx';
import { Link, usePlace } from '../router.tsx';
import { useConsole, useLoad } from '../use-console.ts';

const states = [
  '',
  'reserved',
  'verified',
  'produced',
  'broadcasting',
  'settled',
  'delivered',
  'unknown',
  'failed',
  'rejected',
];

/** The part of an identity that only this payment has. */
const shortOf = (payment: string): string => `${(payment.split(':').at(-1) ?? payment).slice(0, 12)}…`;

const paymentColumn = {
  title: 'Payment',
  cell: ({ payment }: { payment: string }) => (
    <Link path={`operator/payments/${encodeURIComponent(payment)}`}>
      <code>{shortOf(payment)}</code>
    </Link>
  ),
};

const columns: Column<Payment>[] = [
  paymentColumn,
  { title: 'Created', cell: ({ created_at: at }) => <Moment at={at} />, isWide: true },
  { title: 'State', cell: ({ state }) => <State name={state} /> },
  { title: 'Network', cell: ({ network }) => network, isWide: true },
  {
    title: 'Account',
    cell: ({ account_id: id }) => (id === null ? '' : <AccountLink id={id} />),
    isWide: true,
  },
  {
    title: 'Job',
    cell: ({ job_id: id }) => (id === null ? '' : <JobLink id={id} area="operator/" />),
    isWide: true,
  },
  { title: 'Tokens', cell: ({ amount, amount_units: units }) => amount ?? units, isNumber: true },
];

const keyOf = ({ payment }: Payment): string => payment;

interface Stuck {
  payments: Payment[];
  refunds: Refund[];
}

/** What should have ended comes first, because a person has to look at it. */
const StuckPayments = () => {
  const loaded = useLoad<Stuck>('admin/v1/payments?stuck=true', { everyMs: 15_000 });
  return (
    <section>
      <h2>Stuck</h2>
      <Shown loaded={loaded}>
        {({ payments, refunds }) => (
          <>
            <Table
              name="Stuck payments"
              rows={payments}
              columns={columns}
              keyOf={keyOf}
              none="No payment is stuck."
            />
            {refunds.length > 0 && (
              <Table<Refund>
                name="Open refunds"
                rows={refunds}
                columns={[paymentColumn, ...refundColumns]}
                keyOf={({ refund }) => refund}
                none=""
              />
            )}
          </>
        )}
      </Shown>
    </section>
  );
};

export const Payments = () => {
  const { session } = useConsole();
  const { query } = usePlace();
  const state = query.get('state') ?? '';
  return (
    <>
      <Title>Payments</Title>
      {session.cards && (
        <p>
          <Link path="operator/card-payments">Payments by card</Link>
        </p>
      )}
      <StuckPayments />
      <section>
        <h2>All payments</h2>
        <Filters key={state}>
          <Choice name="state" label="State" value={state} options={states} />
        </Filters>
        <PagedTable<Payment>
          name="Payments"
          path="admin/v1/payments"
          member="payments"
          pageField="before"
          filters={{ state }}
          columns={columns}
          keyOf={keyOf}
          none="There are no such payments."
        />
      </section>
    </>
  );
};

interface Story {
  payment: Payment & Readonly<Record<string, unknown>>;
  happened: string;
  advice: string;
}

/** One payment, with what happened and what to do. */
export const PaymentPage = ({ id }: { id: string }) => {
  const loaded = useLoad<Story>(`admin/v1/payments/${encodeURIComponent(id)}`, { everyMs: 15_000 });
  return (
    <>
      <Title>Payment</Title>
      <Shown loaded={loaded}>
        {({ payment, happened, advice }) => (
          <>
            <p class="notice">
              {happened} {advice}
            </p>
            {payment.state === 'unknown' && <Problem text="Its outcome is unknown." />}
            <Facts facts={Object.entries(payment).map(toFact)} />
            <Refunds payment={payment} />
          </>
        )}
      </Shown>
    </>
  );
};
