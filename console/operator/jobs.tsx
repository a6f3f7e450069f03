import type { JobRow, Payment } from '../answers.ts';
import { duration, money } from '../format.ts';
import { AccountLink, jobColumns, JobFilters, useJobFilters } from '../parts/history.tsx';
import { Facts, Moment, Problem, Shown, State, Title, type Fact } from '../parts/parts.tsx';
import { hasEnded } from '../parts/outcome.tsx';
import { PagedTable } from '../parts/table.tsx';
import { Link } from '../router.tsx';
import { useLoad } from '../use-console.ts';

/** The jobs of all accounts. */
export const OperatorJobs = () => (
  <>
    <Title>Jobs of all accounts</Title>
    <JobFilters area="operator/" />
    <PagedTable<JobRow>
      name="Jobs of all accounts"
      path="admin/v1/jobs"
      member="jobs"
      filters={useJobFilters()}
      next={({ next_after: next }) => next}
      columns={jobColumns('operator/')}
      keyOf={({ id }) => id}
      none="There are no such jobs."
    />
  </>
);

interface OperatorJob extends JobRow {
  account_id: string;
  key_id: string;
  started_at: string | null;
  hold_usd: string;
  attempts: number;
  max_attempts: number;
  provider: string | null;
  failed_providers: string[];
  sandbox: boolean;
}

interface JobStory {
  job: OperatorJob;
  payment: Payment | null;
  results: {
    id: string;
    role: string;
    content_type: string;
    size_bytes: number;
    removed_at: string | null;
  }[];
}

const factsOf = ({ job, payment, results }: JobStory): Fact[] => [
  ['Id', <code key="id">{job.id}</code>],
  ['Account', <AccountLink key="account" id={job.account_id} />],
  ['State', <State key="state" name={job.status} />],
  ['Kind and model', `${job.kind}, ${job.model}`],
  ['Created', <Moment key="created" at={job.created_at} />],
  ['Started', <Moment key="started" at={job.started_at} />],
  ['Finished', <Moment key="finished" at={job.finished_at} />],
  ['Took', duration(job.duration_ms)],
  ['Billing', job.billing_status],
  ['Held at most', money(job.hold_usd)],
  ['Cost', money(job.net_spent_usd)],
  ['Begun', `${job.attempts} of ${job.max_attempts} times`],
  ['Provider', job.provider === null ? null : `${job.provider}${job.sandbox ? ' (sandbox)' : ''}`],
  ['Providers that failed', job.failed_providers.join(', ') || 'none'],
  ['Results', results.map((one) => `${one.role} ${one.content_type}`).join(', ') || 'none'],
  [
    'Payment',
    payment && (
      <Link key="payment" path={`operator/payments/${encodeURIComponent(payment.payment)}`}>
        {payment.state}
      </Link>
    ),
  ],
];

export const OperatorJobPage = ({ id }: { id: string }) => {
  const loaded = useLoad<JobStory>(`admin/v1/jobs/${encodeURIComponent(id)}`, {
    everyMs: 5_000,
    isLast: ({ job }) => hasEnded(job),
  });
  return (
    <>
      <Title>Job</Title>
      <Shown loaded={loaded}>
        {(story) => (
          <>
            <Problem text={story.job.error && `${story.job.error.code}: ${story.job.error.message}`} />
            <Facts facts={factsOf(story)} />
          </>
        )}
      </Shown>
    </>
  );
};
