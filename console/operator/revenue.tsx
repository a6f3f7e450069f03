import { money, nextDay } from '../format.ts';
import { toQuery } from '../api.ts';
import { Facts, Shown, Title } from '../parts/parts.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { DayFilters, useDays } from '../parts/usage.tsx';
import { Link } from '../router.tsx';
import { useLoad } from '../use-console.ts';

interface Sum {
  payments: number;
  received_usd?: string;
  refunds: number;
  refunded_usd?: string;
  net_usd?: string;
}

type NetworkSum = Sum & { network: string };
type DaySum = NetworkSum & { day: string; asset: string };

interface PaymentSums {
  total: Sum;
  by_network: NetworkSum[];
  sums: DaySum[];
  left_out: unknown[];
}

interface ToolSum {
  server: string;
  tool: string;
  calls: number;
  errors: number;
  income_usd: string;
  cost_usd: string | null;
  margin_usd: string | null;
}

interface ModelSum {
  model: string;
  done: number;
  failed: number;
  income_usd: string;
  cost_usd: string | null;
  margin_usd: string | null;
}

const known = (usd: string | null): string => (usd === null ? 'unknown' : money(usd));

const moneyColumns: Column<Pick<ModelSum, 'income_usd' | 'cost_usd' | 'margin_usd'>>[] = [
  { title: 'Cost', cell: ({ cost_usd: usd }) => known(usd), isNumber: true, isWide: true },
  { title: 'Margin', cell: ({ margin_usd: usd }) => known(usd), isNumber: true, isWide: true },
  { title: 'Income', cell: ({ income_usd: usd }) => money(usd), isNumber: true },
];

const sumColumns: Column<Sum>[] = [
  { title: 'Payments', cell: ({ payments }) => payments, isNumber: true },
  { title: 'Received', cell: ({ received_usd: usd }) => money(usd), isNumber: true, isWide: true },
  { title: 'Refunded', cell: ({ refunded_usd: usd }) => money(usd), isNumber: true, isWide: true },
  { title: 'Net', cell: ({ net_usd: usd }) => money(usd), isNumber: true },
];

const Tools = ({ query }: { query: string }) => {
  const loaded = useLoad<{ tools: ToolSum[] }>(`admin/v1/tools/revenue${query}`);
  return (
    <section>
      <h2>Mounted tools</h2>
      <Shown loaded={loaded}>
        {({ tools }) => (
          <Table<ToolSum>
            name="Mounted tools"
            rows={tools}
            columns={[
              { title: 'Tool', cell: ({ server, tool }) => `${server} · ${tool}` },
              { title: 'Calls', cell: ({ calls }) => calls, isNumber: true },
              { title: 'Errors', cell: ({ errors }) => errors, isNumber: true, isWide: true },
              ...moneyColumns,
            ]}
            keyOf={({ server, tool }) => `${server} ${tool}`}
            none="No mounted tool was called in this time."
          />
        )}
      </Shown>
    </section>
  );
};

const Models = ({ query }: { query: string }) => {
  const loaded = useLoad<{ models: ModelSum[] }>(`admin/v1/models/revenue${query}`);
  return (
    <section>
      <h2>Models</h2>
      <Shown loaded={loaded}>
        {({ models }) => (
          <Table<ModelSum>
            name="Models"
            rows={models}
            columns={[
              { title: 'Model', cell: ({ model }) => model },
              { title: 'Done', cell: ({ done }) => done, isNumber: true },
              { title: 'Failed', cell: ({ failed }) => failed, isNumber: true, isWide: true },
              ...moneyColumns,
            ]}
            keyOf={({ model }) => model}
            none="No job of a model ended in this time."
          />
        )}
      </Shown>
    </section>
  );
};

/** What payments brought, by network and day, and the income of models and mounted tools. */
export const Revenue = () => {
  const { from, to } = useDays();
  const loaded = useLoad<PaymentSums>(`admin/v1/payments/sums${toQuery({ from, to })}`);
  return (
    <>
      <Title aside={<Link path="operator/payments">The payments</Link>}>Revenue</Title>
      <DayFilters />
      <Shown loaded={loaded}>
        {({ total, by_network: networks, sums, left_out: leftOut }) => (
          <>
            <Facts
              facts={[
                ['Received', money(total.received_usd)],
                ['Refunded', money(total.refunded_usd)],
                ['Net', money(total.net_usd)],
                ['Payments', total.payments],
              ]}
            />
            {leftOut.length > 0 && (
              <p class="notice">The sums leave out {leftOut.length} rows of unknown tokens.</p>
            )}
            <section>
              <h2>By network</h2>
              <Table<NetworkSum>
                name="By network"
                rows={networks}
                columns={[{ title: 'Network', cell: ({ network }) => network }, ...sumColumns]}
                keyOf={({ network }) => network}
                none="Nothing was settled in this time."
              />
            </section>
            <section>
              <h2>By day</h2>
              <Table<DaySum>
                name="By day"
                rows={sums.toReversed()}
                columns={[
                  { title: 'Day (UTC)', cell: ({ day }) => day },
                  { title: 'Network', cell: ({ network }) => network, isWide: true },
                  { title: 'Asset', cell: ({ asset }) => asset, isWide: true },
                  ...sumColumns,
                ]}
                keyOf={({ day, network, asset }) => `${day} ${network} ${asset}`}
                none="Nothing was settled in this time."
              />
            </section>
          </>
        )}
      </Shown>
      <Models query={toQuery({ from, to })} />
      <Tools query={toQuery({ from, to: nextDay(to) })} />
    </>
  );
};
