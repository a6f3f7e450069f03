import { useState } from 'preact/hooks';
import type { Account, Key, Transaction } from '../answers.ts';
import { ApiError, toQuery } from '../api.ts';
import { money } from '../format.ts';
import { Confirm } from '../parts/confirm.tsx';
import { keyColumns, transactionColumns } from '../parts/history.tsx';
import { Facts, Field, Moment, Problem, readFields, Shown, State, Title } from '../parts/parts.tsx';
import { PagedTable, Table } from '../parts/table.tsx';
import { DayFilters, UsageView } from '../parts/usage.tsx';
import { Link } from '../router.tsx';
import { useAction, useConsole, useLoad } from '../use-console.ts';

interface ChangeProps {
  account: Account;
  onDone(): void;
}

interface Asked {
  amount: string;
  reason: string;
  /** Repeating a call with the same id posts once. */
  entryId: string;
}

/** Adds money, after the sum was confirmed in words. */
const Credit = ({ account, onDone }: ChangeProps) => {
  const { api } = useConsole();
  const { isBusy, problem, run } = useAction();
  const [asked, setAsked] = useState<Asked | null>(null);
  /** A post whose outcome is not known: asked again, it keeps its id. */
  const [tried, setTried] = useState<Asked | null>(null);
  const ask = (event: SubmitEvent): void => {
    const { amount = '', reason = '' } = readFields(event);
    const isSame = tried?.amount === amount && tried.reason === reason;
    setAsked(isSame ? tried : { amount, reason, entryId: crypto.randomUUID() });
  };
  const post = (posted: Asked): void =>
    void run(async () => {
      setTried(posted);
      const body = { amount_usd: posted.amount, reason: posted.reason, entry_id: posted.entryId };
      try {
        await api.open(`admin/v1/accounts/${account.id}/credit`, { body });
      } catch (error) {
        if (error instanceof ApiError && error.status < 500) setTried(null);
        throw error;
      }
      setTried(null);
      onDone();
    });
  return (
    <section>
      <h2>Add money</h2>
      <form class="grid" onSubmit={ask}>
        <Field name="amount" label="US dollars" isRequired hint="12.50" />
        <Field name="reason" label="Reason" isRequired hint="Invoice 2041" />
        <button type="submit" disabled={isBusy}>
          Add money
        </button>
      </form>
      <Problem text={problem} />
      {asked !== null && (
        <Confirm
          question={`Add ${asked.amount} US dollars of ${account.sandbox ? 'sandbox credit' : 'real money'} to the account ${account.name}, whose balance is ${account.balance_usd} US dollars? The reason: ${asked.reason}.`}
          yes={`Add ${asked.amount} US dollars`}
          onYes={() => post(asked)}
          onNo={() => setAsked(null)}
        />
      )}
    </section>
  );
};

const Status = ({ account, onDone }: ChangeProps) => {
  const { api } = useConsole();
  const { isBusy, problem, run } = useAction();
  const [isAsked, setAsked] = useState(false);
  const isActive = account.status === 'active';
  const change = (): void =>
    void run(async () => {
      const verb = isActive ? 'suspend' : 'approve';
      await api.open(`admin/v1/accounts/${account.id}/${verb}`, { method: 'POST' });
      onDone();
    });
  return (
    <>
      <button type="button" disabled={isBusy} onClick={() => setAsked(true)}>
        {isActive ? 'Suspend' : 'Approve'}
      </button>
      <Problem text={problem} />
      {isAsked && (
        <Confirm
          question={
            isActive
              ? `Suspend ${account.name}? Calls with any of its keys fail from now on.`
              : `Approve ${account.name}? Its keys work from now on.`
          }
          yes={isActive ? 'Suspend the account' : 'Approve the account'}
          onYes={change}
          onNo={() => setAsked(false)}
        />
      )}
    </>
  );
};

const Keys = ({ id }: { id: string }) => {
  const loaded = useLoad<{ api_keys: Key[] }>(`admin/v1/accounts/${id}/keys?limit=100`);
  return (
    <section>
      <h2>Keys</h2>
      <Shown loaded={loaded}>
        {(answer) => (
          <Table
            name="Keys"
            rows={answer.api_keys}
            columns={keyColumns}
            keyOf={(key) => key.id}
            none="It has no keys."
          />
        )}
      </Shown>
    </section>
  );
};

const factsOf = (account: Account) =>
  [
    ['Id', <code key="id">{account.id}</code>],
    ['State', <State key="state" name={account.status} />],
    ['Money', account.sandbox ? 'sandbox credit' : 'real money'],
    ['Balance', money(account.balance_usd)],
    ['Held', money(account.held_usd)],
    ['Ledger', money(account.ledger_usd)],
    ['Wallet', account.wallet],
    ['Since', <Moment key="since" at={account.created_at} />],
    [
      'Jobs',
      <Link key="jobs" path={`operator/jobs?account_id=${account.id}`}>
        Its jobs
      </Link>,
    ],
  ] as const;

/** One account: its balance, usage, keys and transactions. */
export const AccountPage = ({ id }: { id: string }) => {
  const { session } = useConsole();
  const path = `admin/v1/accounts/${encodeURIComponent(id)}`;
  const [turn, setTurn] = useState(0);
  const loaded = useLoad<{ account: Account }>(path, { everyMs: 15_000, version: turn });
  const update = (): void => setTurn((last) => last + 1);
  return (
    <Shown loaded={loaded}>
      {({ account }) => (
        <>
          <Title
            aside={session.operator === 'write' ? <Status account={account} onDone={update} /> : undefined}
          >
            {account.name}
          </Title>
          <Facts facts={factsOf(account)} />
          {session.operator === 'write' && <Credit account={account} onDone={update} />}
          <section>
            <h2>Usage</h2>
            <DayFilters />
            <UsageView
              path={`${path}/usage`}
              jobsPath={(filter) => `operator/jobs${toQuery({ account_id: id, ...filter })}`}
            />
          </section>
          <Keys id={id} />
          <section>
            <h2>Transactions</h2>
            <PagedTable<Transaction>
              name="Transactions"
              path={`${path}/transactions`}
              member="transactions"
              version={turn}
              columns={transactionColumns('operator/')}
              keyOf={(row) => row.id}
              none="Nothing has changed its balance yet."
            />
          </section>
        </>
      )}
    </Shown>
  );
};
