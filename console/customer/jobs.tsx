import type { JobRow } from '../answers.ts';
import { money } from '../format.ts';
import { jobColumns, JobFilters, useJobFilters } from '../parts/history.tsx';
import { Facts, Moment, Problem, Shown, State, Title } from '../parts/parts.tsx';
import { hasEnded, Outcome, type JobAnswer } from '../parts/outcome.tsx';
import { CustomerTable } from '../parts/table.tsx';
import { Link } from '../router.tsx';
import { useLoad } from '../use-console.ts';

export const Jobs = () => (
  <>
    <Title>Jobs</Title>
    <JobFilters area="" />
    <CustomerTable<JobRow>
      name="Jobs"
      path="v1/jobs"
      filters={useJobFilters()}
      columns={jobColumns('')}
      keyOf={({ id }) => id}
      none="There are no such jobs."
    />
  </>
);

const everyMs = 3_000;

export const JobPage = ({ id }: { id: string }) => {
  const loaded = useLoad<JobAnswer>(`v1/jobs/${encodeURIComponent(id)}`, { everyMs, isLast: hasEnded });
  return (
    <>
      <Title>Job</Title>
      <Shown loaded={loaded}>
        {(job) => (
          <>
            <Facts
              facts={[
                ['Id', <code key="id">{job.id}</code>],
                ['State', <State key="state" name={job.status} />],
                ['Model', job.model],
                ['Created', <Moment key="created" at={job.created_at} />],
                ['Finished', <Moment key="finished" at={job.finished_at} />],
                ['Cost', money(job.usage.cost_usd)],
                [
                  'Why that much',
                  <Link key="receipt" path={`receipts/${job.id}`}>
                    Receipt
                  </Link>,
                ],
              ]}
            />
            <Problem text={job.error && job.error.message} />
            <Outcome job={job} />
          </>
        )}
      </Shown>
    </>
  );
};
