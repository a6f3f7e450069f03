import { columns, int64, integer, text, type RowOf } from '../columns.ts';
import { read, run, writeSteps, type Steps } from '../command.ts';
import { eachOf, hasRows, statement, valuesOf } from '../statement.ts';
import type { JobKind, JobStatus } from './job-table.ts';
import { dayOf } from './usage-table.ts';

interface Span {
  accountId: string;
  /** Epoch milliseconds, inclusive. */
  from: number;
  /** Exclusive. */
  to: number;
}

interface MonthTag {
  accountId: string;
  month: string;
  tag: string;
}

/** The whole days of a span, from midnight to midnight. */
type Days = Span & { firstMidnight: number; lastMidnight: number };

const sumFields = { status: text<JobStatus>(), jobs: integer(), charged: int64(), refunded: int64() };

const groups = columns({
  model: text(),
  kind: text<JobKind>(),
  /** Whole days since 1970-01-01 UTC. */
  day: integer(),
  ...sumFields,
});
/** Sum of the jobs with the same model, kind, status and UTC day of creation. */
export type UsageSum = ReturnType<typeof groups.read>;

const keys = columns({ keyId: text(), label: text(), ...sumFields });
/** Sum of the jobs of one key with the same status. */
export type KeySum = ReturnType<typeof keys.read>;

const tags = columns({ tag: text(), ...sumFields });
/** Sum of the jobs with the same tag and status. The tag of those without one is empty. */
export type TagSum = ReturnType<typeof tags.read>;

const rowsBetween = (from: string, to: string): string => `
  select j.key_id, j.model, j.kind, j.status, coalesce(j.usage_tag, '') as tag, ${dayOf('j.created_at')} as day, 1 as jobs, h.captured as charged, h.refunded
  from jobs j join holds h on h.job_id = j.id
  where j.account_id = $1 and j.created_at >= ${from} and j.created_at < ${to}`;

const firstDay = dayOf('cast($4 as bigint)');
const lastDay = dayOf('cast($5 as bigint)');

/**
 * Whole days have sums of the jobs that have ended, and the edges of a span are read job by job. The sum keeps SQLite from
 * taking the index by account, and so all jobs of the days, for the few that are active.
 */
const usageRows = `select key_id, model, kind, status, tag, day, jobs, charged, refunded from usage_sums
    where account_id = $1 and day >= ${firstDay} and day < ${lastDay}
  union all select key_id, model, kind, status, coalesce(usage_tag, ''), ${dayOf('created_at')}, 1, 0, 0 from jobs
    where account_id = $1 and status in ('queued', 'running') and created_at + 0 >= $4 and created_at + 0 < $5
  union all ${rowsBetween('$2', '$4')}
  union all ${rowsBetween('$5', '$3')}`;

const sums = `cast(sum(jobs) as bigint) as jobs, cast(sum(charged) as bigint) as charged,
  cast(sum(refunded) as bigint) as refunded`;

const dayMs = 86_400_000;

/** A span without a whole day is one edge. */
const toDays = (span: Span): Days => {
  const firstMidnight = Math.ceil(span.from / dayMs) * dayMs;
  const lastMidnight = Math.floor(span.to / dayMs) * dayMs;
  return firstMidnight <= lastMidnight
    ? { ...span, firstMidnight, lastMidnight }
    : { ...span, firstMidnight: span.to, lastMidnight: span.to };
};

/** Sums up the jobs that an account created in a time. The lists are of one moment, and each adds up to all. */
export const sumUsage = read({
  isLong: true,
  text: `with used as materialized (${usageRows})
    select 'group' as part, model, kind, day, null as key_id, null as label, null as tag, status, ${sums}
      from used group by model, kind, status, day
    union all
    select 'key', null, null, null, key_id, (select label from api_keys where id = key_id), null, status, ${sums}
      from used group by key_id, status
    union all
    select 'tag', null, null, null, null, null, tag, status, ${sums} from used group by tag, status
    order by 1, 4, 2, 3, 5, 7, 8`,
  values: (span: Span) => {
    const { accountId, from, to, firstMidnight, lastMidnight } = toDays(span);
    return [accountId, from, to, firstMidnight, lastMidnight];
  },
  read: (rows: (Record<string, never> & { part: string })[]) => {
    const ofPart = (name: string) => rows.filter(({ part }) => part === name);
    return {
      groups: ofPart('group').map(groups.read),
      keys: ofPart('key').map(keys.read),
      tags: ofPart('tag').map(tags.read),
    };
  },
});

export type UsageSums = ReturnType<typeof sumUsage.read>;

const modelFields = {
  model: text(),
  done: integer(),
  failed: integer(),
  /** Without what is still owed. */
  charged: int64(),
  refunded: int64(),
  /** Of the jobs whose cost is known. */
  cost: int64(),
  /** The jobs that were done at an unknown cost. */
  uncosted: integer(),
};
/** Sum of the ended jobs of one SKU, of all accounts. */
export type ModelSum = RowOf<typeof modelFields>;

const sumOf = (value: string): string => `cast(sum(${value}) as bigint)`;

/** The sums of ended jobs, less the charges that no payment has paid yet. */
const paidRows = `select day, kind, model, status, jobs, charged, refunded, cost, uncosted from usage_sums
  union all select ${dayOf('j.created_at')}, j.kind, j.model, j.status, 0, -h.captured, 0, 0, 0
    from holds h join jobs j on j.id = h.job_id where h.debited = 0 and h.state = 'captured'`;

/** Sums up the jobs of models that were created on whole days, from the first (inclusive) to the last (exclusive). */
export const sumModels = read({
  isLong: true,
  text: `select model, ${sumOf("case when status = 'done' then jobs else 0 end")} as done,
      ${sumOf("case when status = 'failed' then jobs else 0 end")} as failed, ${sumOf('charged')} as charged,
      ${sumOf('refunded')} as refunded, ${sumOf('cost')} as cost, ${sumOf('uncosted')} as uncosted
    from (${paidRows}) ended where day >= ${dayOf('cast($1 as bigint)')} and day < ${dayOf('cast($2 as bigint)')}
      and kind in ('chat', 'responses', 'image', 'video')
    group by model order by model limit 2000`,
  values: valuesOf<{ from: number; to: number }>('from', 'to'),
  read: eachOf(columns(modelFields).read),
});

/** The most tags of an account in a month. */
const maxTags = 100;

const addTag = statement({
  text: `insert into usage_tags (account_id, month, tag) select $1, $2, $3
    where (select count(*) from usage_tags where account_id = $1 and month = $2) < ${maxTags}
    on conflict do nothing`,
  values: valuesOf<MonthTag>('accountId', 'month', 'tag'),
});

const hasTag = statement({
  text: `select 1 as found from usage_tags where account_id = $1 and month = $2 and tag = $3`,
  values: valuesOf<MonthTag>('accountId', 'month', 'tag'),
  read: hasRows,
});

/** Takes a tag into those of an account's month (`2026-11`). False: it has 100 others. */
export const claimUsageTag = writeSteps(function* (input: MonthTag): Steps<boolean> {
  yield* run(addTag, input);
  return yield* run(hasTag, input);
});
