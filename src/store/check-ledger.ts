import { formatUsd, type Nano } from '../kit/money.ts';
import { columns, integer } from './columns.ts';
import { run, type Steps } from './command.ts';
import { gaugeOwedJobs } from './commands/gauges.ts';
import { countedKeys } from './commands/key-table.ts';
import { isOwed } from './commands/pledges.ts';
import { dayOf, isUncosted } from './commands/usage-table.ts';
import { onlyOf, statement, type Dialect, type SqlValue } from './statement.ts';

export interface LedgerReport {
  accounts: number;
  entries: number;
  openHolds: number;
  owedJobs: number;
  owed: Nano;
  /** One line per job that is done and owed, and per payment by card of which the account owes a part. */
  debts: string[];
  /** One line per fault; empty if the ledger is correct. */
  problems: string[];
}

type CheckRow = Record<string, SqlValue>;

interface LedgerCheck {
  /** Returns one row per line. A function if the engines differ. */
  text: string | ((dialect: Dialect) => string);
  /** `{id}` is a column of the row, and `{balance USD}` an amount. */
  line: string;
}

const maxLinesPerCheck = 100;

const check = (text: LedgerCheck['text'], line: string): LedgerCheck => ({ text, line });

/** Compares an amount of each row of a table with the sum of its rows in another one, which `sums` groups by `key`. */
const checkSum = (
  { table, key, amount }: { table: string; key: string; amount: string },
  sums: string,
  line: string,
): LedgerCheck =>
  check(
    `select t.*, coalesce(s.total, 0) as total from ${table} t left join (${sums}) s on s.key = t.${key}
      where ${amount} <> coalesce(s.total, 0)`,
    line,
  );

const entriesByPayment = `select payment as key, cast(sum(amount) as bigint) as total from ledger_entries
  where payment is not null group by payment`;

const checks: readonly LedgerCheck[] = [
  checkSum(
    { table: 'accounts', key: 'id', amount: 't.balance' },
    'select account_id as key, cast(sum(amount) as bigint) as total from ledger_entries group by account_id',
    'account {id}: its balance is {balance USD}, but its entries sum to {total USD}',
  ),
  checkSum(
    { table: 'accounts', key: 'id', amount: 't.held' },
    `select account_id as key, cast(sum(amount) as bigint) as total from holds
      where state = 'open' and payment is null group by account_id`,
    'account {id}: {held USD} are marked as held, but its open holds sum to {total USD}',
  ),
  check(
    'select id, balance, held from accounts where balance < held or held < 0',
    'account {id}: it holds {held USD} of a balance of {balance USD}, which cannot be',
  ),
  check(
    'select j.id from jobs j left join holds h on h.job_id = j.id where h.job_id is null',
    'job {id}: it has no hold',
  ),
  check(
    `select j.id, j.status from jobs j join holds h on h.job_id = j.id
      where j.status in ('done', 'failed') and h.state = 'open'`,
    'job {id}: it is {status}, but its hold is still open',
  ),
  check(
    `select j.id, j.status, h.state from jobs j join holds h on h.job_id = j.id
      where j.status in ('queued', 'running') and h.state <> 'open'`,
    'job {id}: it is {status}, but its hold is already {state}',
  ),
  check(
    `select job_id, state, captured from holds where (state = 'captured') <> (captured > 0)`,
    'job {job_id}: its hold is {state}, but {captured USD} are captured',
  ),
  check(
    'select job_id, captured, amount from holds where captured > amount or captured < 0 or amount < 0',
    'job {job_id}: it was charged {captured USD} on a hold of {amount USD}',
  ),
  check(
    'select job_id, refunded, captured from holds where refunded > captured or refunded < 0',
    'job {job_id}: {refunded USD} were refunded of a charge of {captured USD}',
  ),
  checkSum(
    { table: 'holds', key: 'job_id', amount: 'case when t.debited = 0 then 0 else t.captured end' },
    `select job_id as key, cast(-sum(amount) as bigint) as total from ledger_entries
      where type = 'debit' group by job_id`,
    'job {job_id}: {captured USD} were captured, but its debits sum to {total USD}',
  ),
  check(
    `select job_id, count(*) as debits from ledger_entries where type = 'debit' group by job_id having count(*) > 1`,
    'job {job_id}: it was debited {debits} times',
  ),
  checkSum(
    { table: 'holds', key: 'job_id', amount: 't.refunded' },
    `select job_id as key, cast(sum(amount) as bigint) as total from ledger_entries
      where type = 'refund' group by job_id`,
    'job {job_id}: {refunded USD} are marked as refunded, but its refunds sum to {total USD}',
  ),
  check(
    `select e.id, e.account_id, e.job_id, j.account_id as owner_id
      from ledger_entries e join jobs j on j.id = e.job_id where e.account_id <> j.account_id`,
    'entry {id}: it is on account {account_id}, but its job {job_id} is of account {owner_id}',
  ),
  check(
    `select h.job_id, h.account_id, j.account_id as owner_id
      from holds h join jobs j on j.id = h.job_id where h.account_id <> j.account_id`,
    'job {job_id}: its hold is on account {account_id}, but the job is of account {owner_id}',
  ),
  checkSum(
    { table: 'payments', key: 'identity', amount: 't.credited' },
    entriesByPayment,
    'payment {identity}: {credited USD} are marked as credited, but its entries sum to {total USD}',
  ),
  check(
    `select e.id, e.account_id, e.payment, coalesce(p.account_id, c.account_id) as owner_id
      from ledger_entries e left join payments p on p.identity = e.payment left join card_payments c on c.id = e.payment
      where e.payment is not null and e.account_id <> coalesce(p.account_id, c.account_id, '')`,
    'entry {id}: it is on account {account_id}, but its payment {payment} is of account {owner_id}',
  ),
  check(
    `select identity, state, credit, credited from payments
      where credit is not null and account_id is not null
        and (credited > credit
          or (credit_entry is null and state in ('settled', 'delivered'))
          or (credit_entry is not null and state in ('failed', 'rejected')))`,
    'payment {identity}: it is {state} with a credit of {credit USD}, of which {credited USD} are credited',
  ),
  checkSum(
    { table: 'card_payments', key: 'id', amount: 't.credited' },
    entriesByPayment,
    'card payment {id}: {credited USD} are marked as credited, but its entries sum to {total USD}',
  ),
  check(
    `select id, state, amount, kept, credited from card_payments
      where credited < kept or kept > amount or credited > amount or (state <> 'paid' and credited <> 0)`,
    'card payment {id}: it is {state}, {kept USD} are kept of {amount USD}, and {credited USD} are credited',
  ),
];

const usageCheck = check(
  `select account_id, key_id, model, day, cast(sum(jobs) as bigint) as jobs, cast(sum(charged) as bigint) as charged,
      cast(sum(refunded) as bigint) as refunded, cast(sum(cost) as bigint) as cost
    from (
      select account_id, key_id, kind, model, status, tag, day, jobs, charged, refunded, cost, uncosted from usage_sums
      union all
      select j.account_id, j.key_id, j.kind, j.model, j.status, coalesce(j.usage_tag, ''), ${dayOf('j.created_at')}, -1, -h.captured, -h.refunded,
        -coalesce(h.cost, 0), -(${isUncosted('j.status', 'h.cost')})
      from jobs j join holds h on h.job_id = j.id where j.status in ('done', 'failed')
    ) as both_sides
    group by account_id, key_id, kind, model, status, tag, day
    having sum(jobs) <> 0 or sum(charged) <> 0 or sum(refunded) <> 0 or sum(cost) <> 0 or sum(uncosted) <> 0
    order by account_id, key_id, kind, model, day, status`,
  'account {account_id}: of key {key_id}, {model} and day {day} since 1970, the sums of use differ from the jobs by ' +
    '{jobs} jobs, {charged USD} charged, {refunded USD} refunded and {cost USD} of cost',
);

const debtCheck = check(
  `select job_id, account_id, captured, payment from holds where ${isOwed} order by ended_at desc`,
  'job {job_id}: account {account_id} owes {captured USD} for it, because its payment {payment} was not settled',
);

const cardDebtCheck = check(
  `select id, account_id, credited - kept as owed from card_payments where kept <> credited order by updated_at desc`,
  'card payment {id}: account {account_id} owes {owed USD} of it, which was taken back after it had been spent',
);

const dayOfJob = {
  sqlite: `strftime('%Y-%m-%d', j.created_at / 1000, 'unixepoch')`,
  postgres: `to_char(to_timestamp(j.created_at / 1000) at time zone 'UTC', 'YYYY-MM-DD')`,
} satisfies Record<Dialect['kind'], string>;

/** The jobs that count in budgets, each in the day and the month of its admission, and in all. */
const budgetCheck = check(
  ({ kind }) => `with counted as (
      select k.id as key_id, ${dayOfJob[kind]} as day, h.captured,
        case when h.state = 'open' then h.amount else 0 end as held
      from holds h join jobs j on j.id = h.job_id join api_keys k on k.id in ${countedKeys('j.key_id')}
      where h.budgeted = 1
    )
    select key_id, period, cast(sum(spent) as bigint) as spent, cast(sum(held) as bigint) as held from (
      select key_id, period, spent, held from key_use
      union all select key_id, day, -captured, -held from counted
      union all select key_id, substr(day, 1, 7), -captured, -held from counted
      union all select key_id, 'total', -captured, -held from counted
    ) as parts
    group by key_id, period having sum(spent) <> 0 or sum(held) <> 0`,
  'key {key_id}: its use in {period} is {spent USD} spent and {held USD} held above its jobs',
);

const toLine = (line: string, row: CheckRow): string =>
  line.replace(/\{(\w+)( USD)?\}/g, (_, name: string, unit?: string) => {
    const value = row[name];
    return unit !== undefined && typeof value === 'bigint'
      ? formatUsd(value) + unit
      : String(value) + (unit ?? '');
  });

const findProblems = ({ text, line }: LedgerCheck) =>
  statement({
    text: (dialect) => `${typeof text === 'string' ? text : text(dialect)} limit ${maxLinesPerCheck + 1}`,
    read: (rows: CheckRow[]): string[] => {
      const lines = rows.slice(0, maxLinesPerCheck).map((row) => toLine(line, row));
      return rows.length > maxLinesPerCheck ? [...lines, 'and more of the kind above'] : lines;
    },
  });

const countLedger = statement({
  text: `select (select count(*) from accounts) as accounts,
    (select count(*) from ledger_entries) as entries,
    (select count(*) from holds where state = 'open') as open_holds`,
  read: onlyOf(columns({ accounts: integer(), entries: integer(), openHolds: integer() }).read),
});

/** Finds faults of the ledger. The caller runs the steps on one snapshot, so that running commands do not look like faults. */
export function* checkLedger(): Steps<LedgerReport> {
  const counts = yield* run(countLedger, undefined);
  const problems: string[] = [];
  for (const one of [...checks, budgetCheck, usageCheck])
    problems.push(...(yield* run(findProblems(one), undefined)));
  const { jobs: owedJobs, owed } = yield* run(gaugeOwedJobs, undefined);
  const debts = [
    ...(yield* run(findProblems(debtCheck), undefined)),
    ...(yield* run(findProblems(cardDebtCheck), undefined)),
  ];
  return { ...counts, owedJobs, owed, debts, problems };
}
