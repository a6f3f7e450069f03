import type { Transaction } from '../answers.ts';
import { toQuery } from '../api.ts';
import { dayBefore, money } from '../format.ts';
import { Action } from '../parts/confirm.tsx';
import { Filters } from '../parts/filters.tsx';
import { transactionColumns } from '../parts/history.tsx';
import { Facts, Field, PrintButton, Shown, Title } from '../parts/parts.tsx';
import { Table } from '../parts/table.tsx';
import { usePlace } from '../router.tsx';
import { useConsole, useLoad } from '../use-console.ts';

type Line = Transaction & { balance_usd: string };

interface StatementPage {
  month: string;
  opening_balance_usd: string;
  closing_balance_usd: string;
  data: Line[];
  next_cursor: string | null;
}

/** Every change of the balance in a month, which the address has. */
export const StatementPage = () => {
  const { api } = useConsole();
  const { query, setQuery } = usePlace();
  const month = query.get('month') ?? dayBefore(0).slice(0, 7);
  const loaded = useLoad<StatementPage>(`v1/statement${toQuery({ month, cursor: query.get('page') })}`);
  // A link to the file would be no call of this page, which alone the session's cookie serves.
  const download = async (): Promise<void> => {
    const answer = await api.open(`v1/statement${toQuery({ month, format: 'csv' })}`);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(await answer.blob());
    link.download = `statement-${month}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <>
      <Title
        aside={
          <div class="row">
            <Action label="Download CSV" act={download} />
            <PrintButton />
          </div>
        }
      >
        Statement of {month}
      </Title>
      <Filters key={month}>
        <Field name="month" label="Month (UTC)" type="month" value={month} hint="2026-11" />
      </Filters>
      <Shown loaded={loaded}>
        {({ opening_balance_usd: opening, closing_balance_usd: closing, data, next_cursor: next }) => (
          <>
            <Facts
              facts={[
                ['Balance before', money(opening)],
                ['Balance after', money(closing)],
              ]}
            />
            <section>
              <Table<Line>
                name={`Statement of ${month}`}
                rows={data}
                columns={[
                  ...transactionColumns(''),
                  { title: 'Balance', cell: ({ balance_usd: balance }) => money(balance), isNumber: true },
                ]}
                keyOf={({ id }) => id}
                none="Nothing changed the balance in this month."
              />
            </section>
            {next !== null && (
              <button type="button" onClick={() => setQuery({ page: next })}>
                The rest of the month
              </button>
            )}
          </>
        )}
      </Shown>
    </>
  );
};
