import { useState } from 'preact/hooks';
import type { Payment } from '../answers.ts';
import { toQuery } from '../api.ts';
import { useConfirmed } from '../parts/confirm.tsx';
import { Field, Moment, readFields, Shown, State } from '../parts/parts.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Link } from '../router.tsx';
import { useCallId, useConsole, useLoad } from '../use-console.ts';

export interface Refund {
  refund: string;
  payment: string;
  state: string;
  amount: string | null;
  amount_units: string;
  reason: string | null;
  created_at: string;
}

interface Preview {
  outcome: string;
  amount_units: string;
  recipient: string;
  cost: string | null;
}

/** Else the refund of this id has ended, and the next one has an id of its own. */
const isOpen = ({ outcome }: Preview): boolean => outcome === 'not_confirmed';

const toQuestion = ({ network }: Payment, amount: string, { recipient, cost, ...preview }: Preview): string =>
  `Send ${amount === '' ? `all that is left, ${preview.amount_units} units of the token,` : `${amount} tokens`} on ` +
  `${network} back to ${recipient}? The fee is ${cost === null ? 'not known' : `at most ${cost}`}. A transfer cannot be undone.`;

/** Sends tokens back to the payer, after the gateway said what that would do. */
const NewRefund = ({ payment, onDone }: { payment: Payment; onDone(): void }) => {
  const { api } = useConsole();
  const { isBusy, run, ask, dialog } = useConfirmed();
  const { once } = useCallId();
  const path = `admin/v1/payments/${encodeURIComponent(payment.payment)}`;
  const send = (wanted: object): Promise<void> =>
    once((id) => api.read<{ outcome: string }>(`${path}/refunds`, { body: { ...wanted, refund_id: id } }), {
      isEnd: ({ outcome }) => outcome === 'settled' || outcome === 'failed',
    })
      .then(() => undefined)
      .finally(onDone);
  const preview = (event: SubmitEvent): void => {
    const { amount = '', note = '' } = readFields(event);
    const wanted = { ...(amount && { amount }), ...(note && { note }) };
    const seek = async (id: string): Promise<Preview> => {
      const found = await api.read<Preview>(`${path}/refund-preview${toQuery({ refund_id: id, amount })}`);
      const question = toQuestion(payment, amount, found);
      if (isOpen(found)) ask({ question, yes: 'Send the refund', act: () => send(wanted) });
      return found;
    };
    void run(() => once(seek, { isEnd: (found) => !isOpen(found) }).then(onDone));
  };
  return (
    <>
      <form class="grid" onSubmit={preview}>
        <Field name="amount" label="Tokens" hint="all that is left" />
        <Field name="note" label="Note for the books" />
        <button type="submit" disabled={isBusy}>
          {isBusy ? 'Asking the chain…' : 'Refund'}
        </button>
      </form>
      {dialog}
    </>
  );
};

export const refundColumns: Column<Refund>[] = [
  { title: 'Time', cell: ({ created_at: at }) => <Moment at={at} /> },
  { title: 'State', cell: ({ state }) => <State name={state} /> },
  { title: 'Why', cell: ({ reason }) => reason ?? '', isWide: true },
  { title: 'Tokens', cell: ({ amount, amount_units: units }) => amount ?? units, isNumber: true },
];

const cancelColumn: Column<Refund> = {
  title: 'Cancel',
  cell: ({ refund, state }) =>
    state === 'planned' && (
      <Link path={`operator/changes/cancel_payment_refund?refund_id=${refund}`}>Cancel</Link>
    ),
};

/** The refunds of a payment, and a new one. */
export const Refunds = ({ payment }: { payment: Payment }) => {
  const { session } = useConsole();
  const mayWrite = session.operator === 'write';
  const [turn, setTurn] = useState(0);
  const path = `admin/v1/payment-refunds${toQuery({ payment: payment.payment, limit: 100 })}`;
  const loaded = useLoad<{ refunds: Refund[] }>(path, { everyMs: 15_000, version: turn });
  return (
    <section>
      <h2>Refunds</h2>
      <Shown loaded={loaded}>
        {({ refunds }) => (
          <Table
            name="Refunds"
            rows={refunds}
            columns={[...refundColumns, cancelColumn]}
            keyOf={({ refund }) => refund}
            none="Nothing was sent back."
          />
        )}
      </Shown>
      {mayWrite && <NewRefund payment={payment} onDone={() => setTurn((last) => last + 1)} />}
    </section>
  );
};
