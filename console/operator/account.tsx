import { useState } from 'preact/hooks';
import type { Account, Key, Transaction } from '../answers.ts';
import { toQuery } from '../api.ts';
import { Action, useConfirmed } from '../parts/confirm.tsx';
import { keyColumns, toFact, transactionColumns } from '../parts/history.tsx';
import { Facts, Field, readFields, Shown, Title } from '../parts/parts.tsx';
import { PagedTable, Table } from '../parts/table.tsx';
import { DayFilters, UsageView } from '../parts/usage.tsx';
import { Link } from '../router.tsx';
import { useCallId, useConsole, useLoad } from '../use-console.ts';

interface ChangeProps {
  account: Account;
  onDone(): void;
}

/** Adds money, after the sum was confirmed in words. */
const Credit = ({ account: { id, name, sandbox, balance_usd: balance }, onDone }: ChangeProps) => {
  const { api } = useConsole();
  const { isBusy, ask, dialog } = useConfirmed();
  const { once } = useCallId();
  const askFor = (event: SubmitEvent): void => {
    const { amount_usd: amount = '', reason = '' } = readFields(event);
    const body = { amount_usd: amount, reason };
    ask({
      question: `Add ${amount} US dollars of ${sandbox ? 'sandbox credit' : 'real money'} to the account ${name}, whose balance is ${balance} US dollars? The reason: ${reason}.`,
      yes: `Add ${amount} US dollars`,
      act: () =>
        once((entryId) =>
          api.open(`admin/v1/accounts/${id}/credit`, { body: { ...body, entry_id: entryId } }),
        ).then(onDone),
    });
  };
  return (
    <section>
      <h2>Add money</h2>
      <form class="grid" onSubmit={askFor}>
        <Field name="amount_usd" label="US dollars" isRequired hint="12.50" />
        <Field name="reason" label="Reason" isRequired hint="Invoice 2041" />
        <button type="submit" disabled={isBusy}>
          Add money
        </button>
      </form>
      {dialog}
    </section>
  );
};

const Status = ({ account: { id, name, status }, onDone }: ChangeProps) => {
  const { api } = useConsole();
  const [verb, yes, effect] =
    status === 'active'
      ? (['suspend', 'Suspend', 'Calls with any of its keys fail'] as const)
      : (['approve', 'Approve', 'Its keys work'] as const);
  return (
    <Action
      label={yes}
      question={`${yes} ${name}? ${effect} from now on.`}
      yes={`${yes} the account`}
      act={() => api.open(`admin/v1/accounts/${id}/${verb}`, { method: 'POST' }).then(onDone)}
    />
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

const Terms = ({ id }: { id: string }) => {
  const { session } = useConsole();
  const loaded = useLoad<{ terms: object | null }>(`admin/v1/accounts/${id}/terms`);
  const change = 'operator/changes/set_account_terms';
  return (
    <section>
      <h2>Terms</h2>
      <Shown loaded={loaded}>
        {({ terms }) => (
          <>
            <pre tabIndex={0}>
              {terms === null ? 'Those of the gateway.' : JSON.stringify(terms, null, 2)}
            </pre>
            {session.operator === 'write' && (
              <Link path={change + toQuery({ account_id: id, terms: terms && JSON.stringify(terms) })}>
                Change the terms
              </Link>
            )}
          </>
        )}
      </Shown>
    </section>
  );
};

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
          <Facts facts={Object.entries(account).map(toFact)} />
          <p>
            <Link path={`operator/jobs?account_id=${account.id}`}>Its jobs</Link>
          </p>
          <Terms id={account.id} />
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
