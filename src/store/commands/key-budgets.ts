import { isoOrNull } from '../../kit/clock.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import { run, type Steps } from '../command.ts';
import { statement } from '../statement.ts';
import type { Job, NewJob } from './job-table.ts';
import { countedKeys } from './key-table.ts';
import { listCountedKeys } from './keys.ts';
import { tellEvent } from './tell-event.ts';
import { budgetsOf, periodEnd, periodNames } from '../../rules/key-limits.ts';

interface Counted {
  job: Pick<NewJob, 'id' | 'keyId'>;
  hold: Nano;
  now: number;
}

const markHold = statement({
  text: `update holds set budgeted = 1 where job_id = $1`,
  values: ({ job }: Counted) => [job.id],
});

const addHeld = statement({
  text: `insert into key_use (key_id, period, spent, held)
    select k.id, p.period, 0, cast($4 as bigint)
    from api_keys k cross join (select $2 as period union all select $3 union all select 'total') as p
    where k.id in ${countedKeys('$1')}
    on conflict (key_id, period) do update set held = key_use.held + excluded.held`,
  values: ({ job, hold, now }: Counted) => [job.keyId, ...periodNames(now), hold],
});

/** Counts the hold of a new job in the day and the month of its admission, and in all. */
export function* countHold(counted: Counted): Steps<void> {
  yield* run(markHold, counted);
  yield* run(addHeld, counted);
}

export type CountedJob = Pick<Job, 'id' | 'accountId' | 'keyId' | 'hold' | 'createdAt'>;

interface Capture {
  job: CountedJob;
  captured: Nano;
  now: number;
}

const moveHeld = statement({
  text: `update key_use set spent = spent + $4, held = held - $5 where key_id in ${countedKeys('$1')} and period in ($2, $3, 'total')`,
  values: ({ job: { keyId, createdAt, hold }, captured }: Capture) => [
    keyId,
    ...periodNames(createdAt),
    captured,
    hold,
  ],
});

/** An event is sent when a budget is spent to one of these percentages. */
const thresholds = [80n, 100n];

/**
 * Counts the end of a job in the day and the month of its admission, and in all. Adds an event for each threshold of a budget that
 * this capture reaches. What is spent in a period never becomes less, so that happens once.
 */
export function* countCapture(capture: Capture): Steps<void> {
  const { job, captured, now } = capture;
  yield* run(moveHeld, capture);
  if (captured === 0n) return;
  for (const key of yield* run(listCountedKeys, { keyId: job.keyId, time: job.createdAt })) {
    const { accountId, alertUrl: url } = key;
    if (url === null) continue;
    for (const budget of budgetsOf(key))
      for (const threshold of thresholds) {
        const reachedAt = budget.limit * threshold;
        if (budget.spent * 100n < reachedAt || (budget.spent - captured) * 100n >= reachedAt) continue;
        const facts = {
          key_id: key.id,
          label: key.label,
          period: budget.period,
          percent: Number(threshold),
          budget_usd: formatUsd(budget.limit),
          spent_usd: formatUsd(budget.spent),
          resets_at: isoOrNull(periodEnd(budget.period, job.createdAt)),
        };
        yield* tellEvent({ now, accountId, event: 'key.budget_reached', jobId: job.id, url }, facts);
      }
  }
}
