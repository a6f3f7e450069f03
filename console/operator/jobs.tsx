import type { JobRow } from '../answers.ts';
import { jobColumns, JobFilters, toFact, useJobFilters } from '../parts/history.tsx';
import { Facts, Problem, Shown, Title, type Fact } from '../parts/parts.tsx';
import { hasEnded } from '../parts/outcome.tsx';
import { PagedTable } from '../parts/table.tsx';
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

interface JobStory {
  job: JobRow;
  /** The identity of the payment that paid for it. */
  payment: string | null;
  results: { role: string; content_type: string }[];
}

const factsOf = ({ job: { error: _shown, ...job }, payment, results }: JobStory): Fact[] => [
  ...Object.entries({ ...job, payment }).map(toFact),
  ['Results', results.map((one) => `${one.role} ${one.content_type}`).join(', ') || 'none'],
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
