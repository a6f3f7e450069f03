import { toQuery } from '../api.ts';
import { money } from '../format.ts';
import { Shown, Title } from '../parts/parts.tsx';
import { DayFilters, UsageView } from '../parts/usage.tsx';
import { Link } from '../router.tsx';
import { useLoad } from '../use-console.ts';

export const Balance = () => {
  const loaded = useLoad<{ balance_usd: string }>('v1/balance', { everyMs: 15_000 });
  return (
    <Shown loaded={loaded}>
      {({ balance_usd: balance }) => (
        <p class="balance">
          <span>Balance</span> <strong>{money(balance)}</strong>{' '}
          <Link path="transactions">All changes of it</Link>
        </p>
      )}
    </Shown>
  );
};

export const Overview = () => (
  <>
    <Title aside={<Link path="jobs">The jobs</Link>}>Overview</Title>
    <Balance />
    <DayFilters />
    <UsageView path="v1/usage" jobsPath={(filter) => `jobs${toQuery(filter)}`} />
  </>
);
