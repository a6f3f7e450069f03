import { useState } from 'preact/hooks';
import { toFact } from '../parts/history.tsx';
import { Facts, Moment, Problem, Shown, State, Title } from '../parts/parts.tsx';
import { Table } from '../parts/table.tsx';
import { useLoad } from '../use-console.ts';

interface Served {
  kind: string;
  model: string;
  state: 'up' | 'failing';
  calls: number;
  failures: number;
  last_success_at: string | null;
  last_failure: { at: string; reason?: string } | null;
}

interface Provider {
  name: string;
  models: Served[];
}

const Providers = () => {
  const loaded = useLoad<{ providers: Provider[] }>('admin/v1/providers', { everyMs: 15_000 });
  return (
    <section>
      <h2>Providers</h2>
      <Shown loaded={loaded}>
        {({ providers }) => (
          <Table
            name="Providers"
            rows={providers.flatMap(({ name, models }) => models.map((model) => ({ name, ...model })))}
            columns={[
              { title: 'Provider', cell: ({ name }) => name },
              { title: 'Model', cell: ({ model }) => model },
              { title: 'Kind', cell: ({ kind }) => kind, isWide: true },
              {
                title: 'State',
                cell: ({ state }) => <State name={state} />,
              },
              { title: 'Last 5 minutes', cell: ({ calls }) => calls, isNumber: true, isWide: true },
              { title: 'Failed', cell: ({ failures }) => failures, isNumber: true, isWide: true },
              { title: 'Last success', cell: ({ last_success_at: at }) => <Moment at={at} />, isWide: true },
              {
                title: 'Last failure',
                cell: ({ last_failure: failure }) => <Moment at={failure?.at ?? null} />,
                isWide: true,
              },
            ]}
            keyOf={({ name, kind, model }) => `${name} ${kind} ${model}`}
            none="There are no providers."
          />
        )}
      </Shown>
    </section>
  );
};

const Books = () => (
  <Shown loaded={useLoad<{ ok: boolean }>('admin/v1/ledger/check')}>
    {({ ok: isRight, ...report }) => (
      <>
        <Problem text={isRight ? null : 'The books are not right.'} />
        <Facts facts={[['Books', isRight ? 'right' : 'not right'], ...Object.entries(report).map(toFact)]} />
      </>
    )}
  </Shown>
);

/** The check reads the whole ledger, so a person asks for it. */
const LedgerCheck = () => {
  const [turn, setTurn] = useState(0);
  return (
    <section>
      <h2>Ledger</h2>
      {turn > 0 && <Books key={turn} />}
      <p>
        <button type="button" onClick={() => setTurn((last) => last + 1)}>
          Check the ledger
        </button>
      </p>
    </section>
  );
};

export const Gateway = () => (
  <>
    <Title>Gateway</Title>
    <Providers />
    <LedgerCheck />
  </>
);
