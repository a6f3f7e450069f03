import { columns, text, time, type RowOf } from '../columns.ts';
import { read, readSteps, run, type Steps } from '../command.ts';
import { eachOf, firstOf, statement, type Dialect, type SqlValue } from '../statement.ts';
import { top, type HistoryPosition } from './history-page.ts';
import {
  findJob,
  summaryColumns,
  toSummary,
  type JobKind,
  type JobStatus,
  type JobSummary,
} from './job-table.ts';

/** Reads a job of any account, for operators. */
export const getJobOfAny = read(findJob);

const filterFields = {
  accountId: text(),
  status: text<JobStatus>(),
  kind: text<JobKind>(),
  model: text(),
  keyId: text(),
  usageTag: text(),
};
type Filter = Partial<RowOf<typeof filterFields>>;
const filters = columns(filterFields).all;

interface Search extends Filter {
  /** Epoch milliseconds, inclusive. */
  from?: number;
  /** Epoch milliseconds, exclusive. */
  to?: number;
  before: HistoryPosition | null;
  limit: number;
}

/** An index that finds jobs, and the filters that it has; `$4` is the first of these. */
interface Way {
  index: string;
  where: string;
  filters: (keyof Filter)[];
  /** It has only these states. */
  statuses?: JobStatus[];
}

/** The first that has what is wanted is taken. There are few active jobs, so their index is not by age. */
const ways: Way[] = [
  {
    index: 'jobs_of_account_failed',
    where: `j.account_id = $4 and j.status = 'failed'`,
    filters: ['accountId', 'status'],
    statuses: ['failed'],
  },
  {
    index: 'jobs_failed',
    where: `j.status = 'failed' and j.status = $4`,
    filters: ['status'],
    statuses: ['failed'],
  },
  {
    index: 'jobs_active',
    where: `j.status in ('queued', 'running') and j.status = $4`,
    filters: ['status'],
    statuses: ['queued', 'running'],
  },
  { index: 'jobs_by_account', where: 'j.account_id = $4', filters: ['accountId'] },
  { index: 'jobs_by_age', where: 'cast($4 as text) is null', filters: [] },
];

const fits = ({ filters, statuses }: Way, filter: Filter): boolean =>
  filters.every((name) => filter[name] !== undefined) &&
  (statuses === undefined || statuses.some((status) => status === filter.status));

/** SQLite knows nothing of the data, and would take the index by age for everything. */
const jobsBy = ({ index, where }: Way, { kind }: Dialect, join = ''): string =>
  `jobs j ${kind === 'sqlite' ? `indexed by ${index}` : ''} ${join}
    where ${where} and (j.created_at, j.id) < ($1, $2) and j.created_at >= $3`;

/** The most jobs that a page looks at, so that a search for rare ones is no walk through all. */
const maxSeen = 10_000;

const newestFirst = 'order by j.created_at desc, j.id desc';

const valuesBy =
  ({ filters: [first] }: Way) =>
  ({ before, from = 0, to, ...filter }: Search): SqlValue[] => {
    const last = before ?? top;
    const { createdAt, id } = to !== undefined && to <= last.createdAt ? { createdAt: to, id: '' } : last;
    return [createdAt, id, from, (first && filter[first]) ?? null];
  };

const position = columns({ createdAt: time(), id: text() });

/** The last job that a page looks at; null: it looks at all. */
const lastSeen = (way: Way) =>
  statement({
    text: (dialect) => `select ${position.list('j.')} from ${jobsBy(way, dialect)}
      ${newestFirst} limit 1 offset ${maxSeen - 1}`,
    values: valuesBy(way),
    read: firstOf(position.read),
  });

/** The form of the filters, which follow `$7`, keeps the planners from using an index for them. */
const isWanted = ({ name }: { name: string }, place: number): string =>
  `and (cast($${place + 8} as text) is null or j.${name} = $${place + 8})`;

const pageBy = (way: Way) =>
  statement({
    text: (dialect) => `select ${summaryColumns}
      from ${jobsBy(way, dialect, 'join holds h on h.job_id = j.id')}
        and (j.created_at, j.id) >= ($5, $6) ${filters.map(isWanted).join(' ')}
      ${newestFirst} limit $7`,
    values: ({ last, ...search }: Search & { last: HistoryPosition | null }) => [
      ...valuesBy(way)(search),
      last?.createdAt ?? 0,
      last?.id ?? '',
      search.limit + 1,
      ...filters.map(({ field }) => search[field] ?? null),
    ],
    read: eachOf(toSummary),
  });

const searches = ways.map((way) => ({ ...way, lastSeen: lastSeen(way), page: pageBy(way) }));

/**
 * Lists the jobs of all accounts that have what is given, in the order of `listJobs`. `next`: the position at which the
 * next page begins; null after the last page. A page looks at 10,000 jobs at most, so it may have few, and still a next.
 */
export const searchJobs = readSteps(
  function* (search: Search): Steps<{ jobs: JobSummary[]; next: HistoryPosition | null }> {
    const way = searches.find((one) => fits(one, search));
    if (way === undefined) throw new Error('no way fits');
    const isWhole = filters.every(({ field }) => search[field] === undefined || way.filters.includes(field));
    const last = isWhole ? null : yield* run(way.lastSeen, search);
    const jobs = yield* run(way.page, { ...search, last });
    const isFull = jobs.length > search.limit;
    return { jobs: jobs.slice(0, search.limit), next: isFull ? (jobs[search.limit - 1] ?? null) : last };
  },
  { isLong: true },
);
