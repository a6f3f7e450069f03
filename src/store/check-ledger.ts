import { formatUsd, type Nano } from '../kit/money.ts';
import { run, type Steps } from './command.ts';
import { gaugeOwedJobs } from './commands/gauges.ts';
import { countedKeys } from './commands/key-table.ts';
import { isOwed } from './commands/pledges.ts';
import { onlyOf, statement, type Dialect, type SqlValue } from './statement.ts';

export interface LedgerReport {
  accounts: number;
  entries: number;
  openHolds: number;
  owedJobs: number;
  owed: Nano;
  /** One line per job that is done and owed. */
  debts: string[];
  /** One line per fault; empty if the ledger is correct. */
  problems: string[];
}

type CheckRow = Record<string, SqlValue>;

interface LedgerCheck {
  /** Returns one row per line. A function if the engines differ. */
  text: string | ((dialect: Dialect) => string);
  line: (row: CheckRow) => string;
}

const maxLinesPerCheck = 100;

const usd = (value: SqlValue | undefined): string =>
  typeof value === 'bigint' ? formatUsd(value) : String(value);

const accountChecks: LedgerCheck[] = [
  {
    text: `select a.id, a.balance, coalesce(e.total, 0) as total
      from accounts a
      left join (select account_id, cast(sum(amount) as bigint) as total from ledger_entries group by account_id) e
        on e.account_id = a.id
      where a.balance <> coalesce(e.total, 0)`,
    line: (row) =>
      `account ${row.id}: its balance is ${usd(row.balance)} USD, but its entries sum to ${usd(row.total)} USD`,
  },
  {
    text: `select a.id, a.held, coalesce(h.total, 0) as total
      from accounts a
      left join (
        select account_id, cast(sum(amount) as bigint) as total from holds
        where state = 'open' and payment is null group by account_id
      ) h on h.account_id = a.id
      where a.held <> coalesce(h.total, 0)`,
    line: (row) =>
      `account ${row.id}: ${usd(row.held)} USD are marked as held, but its open holds sum to ${usd(row.total)} USD`,
  },
  {
    text: `select id, balance, held from accounts where balance < held or held < 0`,
    line: (row) =>
      `account ${row.id}: it holds ${usd(row.held)} USD of a balance of ${usd(row.balance)} USD, which cannot be`,
  },
];

const holdChecks: LedgerCheck[] = [
  {
    text: `select j.id from jobs j left join holds h on h.job_id = j.id where h.job_id is null`,
    line: (row) => `job ${row.id}: it has no hold`,
  },
  {
    text: `select j.id, j.status from jobs j join holds h on h.job_id = j.id
      where j.status in ('done', 'failed') and h.state = 'open'`,
    line: (row) => `job ${row.id}: it is ${row.status}, but its hold is still open`,
  },
  {
    text: `select j.id, j.status, h.state from jobs j join holds h on h.job_id = j.id
      where j.status in ('queued', 'running') and h.state <> 'open'`,
    line: (row) => `job ${row.id}: it is ${row.status}, but its hold is already ${row.state}`,
  },
  {
    text: `select job_id, state, captured from holds where (state = 'captured') <> (captured > 0)`,
    line: (row) => `job ${row.job_id}: its hold is ${row.state}, but ${usd(row.captured)} USD are captured`,
  },
  {
    text: `select job_id, captured, amount from holds where captured > amount or captured < 0 or amount < 0`,
    line: (row) =>
      `job ${row.job_id}: it was charged ${usd(row.captured)} USD on a hold of ${usd(row.amount)} USD`,
  },
  {
    text: `select job_id, refunded, captured from holds where refunded > captured or refunded < 0`,
    line: (row) =>
      `job ${row.job_id}: ${usd(row.refunded)} USD were refunded of a charge of ${usd(row.captured)} USD`,
  },
];

const entryChecks: LedgerCheck[] = [
  {
    text: `select h.job_id, h.captured, coalesce(e.total, 0) as total
      from holds h
      left join (
        select job_id, cast(-sum(amount) as bigint) as total from ledger_entries where type = 'debit' group by job_id
      ) e on e.job_id = h.job_id
      where case when h.debited = 0 then 0 else h.captured end <> coalesce(e.total, 0)`,
    line: (row) =>
      `job ${row.job_id}: ${usd(row.captured)} USD were captured, but its debits sum to ${usd(row.total)} USD`,
  },
  {
    text: `select job_id, count(*) as debits from ledger_entries where type = 'debit' group by job_id having count(*) > 1`,
    line: (row) => `job ${row.job_id}: it was debited ${String(row.debits)} times`,
  },
  {
    text: `select h.job_id, h.refunded, coalesce(e.total, 0) as total
      from holds h
      left join (
        select job_id, cast(sum(amount) as bigint) as total from ledger_entries where type = 'refund' group by job_id
      ) e on e.job_id = h.job_id
      where h.refunded <> coalesce(e.total, 0)`,
    line: (row) =>
      `job ${row.job_id}: ${usd(row.refunded)} USD are marked as refunded, but its refunds sum to ${usd(row.total)} USD`,
  },
  {
    text: `select e.id, e.account_id, e.job_id, j.account_id as owner_id
      from ledger_entries e join jobs j on j.id = e.job_id where e.account_id <> j.account_id`,
    line: (row) =>
      `entry ${row.id}: it is on account ${row.account_id}, but its job ${row.job_id} is of account ${row.owner_id}`,
  },
  {
    text: `select h.job_id, h.account_id, j.account_id as owner_id
      from holds h join jobs j on j.id = h.job_id where h.account_id <> j.account_id`,
    line: (row) =>
      `job ${row.job_id}: its hold is on account ${row.account_id}, but the job is of account ${row.owner_id}`,
  },
];

const paymentChecks: LedgerCheck[] = [
  {
    text: `select p.identity, p.credited, coalesce(e.total, 0) as total
      from payments p
      left join (
        select payment, cast(sum(amount) as bigint) as total from ledger_entries where payment is not null
        group by payment
      ) e on e.payment = p.identity
      where p.credited <> coalesce(e.total, 0)`,
    line: (row) =>
      `payment ${row.identity}: ${usd(row.credited)} USD are marked as credited, but its entries sum to ${usd(row.total)} USD`,
  },
  {
    text: `select e.id, e.account_id, e.payment, p.account_id as owner_id
      from ledger_entries e left join payments p on p.identity = e.payment
      where e.payment is not null and e.account_id <> coalesce(p.account_id, '')`,
    line: (row) =>
      `entry ${row.id}: it is on account ${row.account_id}, but its payment ${row.payment} is of account ${row.owner_id}`,
  },
  {
    text: `select identity, state, credit, credited from payments
      where credit is not null and account_id is not null
        and (credited > credit
          or (credit_entry is null and state in ('settled', 'delivered'))
          or (credit_entry is not null and state in ('failed', 'rejected')))`,
    line: (row) =>
      `payment ${row.identity}: it is ${row.state} with a credit of ${usd(row.credit)} USD, of which ${usd(row.credited)} USD are credited`,
  },
];

const debtCheck: LedgerCheck = {
  text: `select job_id, account_id, captured, payment from holds where ${isOwed} order by ended_at desc`,
  line: (row) =>
    `job ${row.job_id}: account ${row.account_id} owes ${usd(row.captured)} USD for it, because its payment ${row.payment} was not settled`,
};

const dayOfJob = {
  sqlite: `strftime('%Y-%m-%d', j.created_at / 1000, 'unixepoch')`,
  postgres: `to_char(to_timestamp(j.created_at / 1000) at time zone 'UTC', 'YYYY-MM-DD')`,
} satisfies Record<Dialect['kind'], string>;

/** The jobs that count in budgets, each in the day and the month of its admission, and in all. */
const budgetCheck: LedgerCheck = {
  text: ({ kind }) => `with counted as (
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
  line: (row) =>
    `key ${row.key_id}: its use in ${row.period} is ${usd(row.spent)} USD spent and ${usd(row.held)} USD held above its jobs`,
};

/** Makes the report's lines for the rows of one check. */
const findProblems = ({ text, line }: LedgerCheck) =>
  statement({
    text: (dialect) => `${typeof text === 'string' ? text : text(dialect)} limit ${maxLinesPerCheck + 1}`,
    values: () => [],
    read: (rows: CheckRow[]): string[] => {
      const lines = rows.slice(0, maxLinesPerCheck).map((row) => line(row));
      return rows.length > maxLinesPerCheck ? [...lines, 'and more of the kind above'] : lines;
    },
  });

const countLedger = statement({
  text: `select (select count(*) from accounts) as accounts,
    (select count(*) from ledger_entries) as entries,
    (select count(*) from holds where state = 'open') as open_holds`,
  values: () => [],
  read: onlyOf((row: { accounts: bigint; entries: bigint; open_holds: bigint }) => ({
    accounts: Number(row.accounts),
    entries: Number(row.entries),
    openHolds: Number(row.open_holds),
  })),
});

/** Finds faults of the ledger. The caller runs the steps on one snapshot, so that running commands do not look like faults. */
export function* checkLedger(): Steps<LedgerReport> {
  const counts = yield* run(countLedger, undefined);
  const problems: string[] = [];
  for (const check of [...accountChecks, ...holdChecks, ...entryChecks, ...paymentChecks, budgetCheck])
    problems.push(...(yield* run(findProblems(check), undefined)));
  const { jobs: owedJobs, owed } = yield* run(gaugeOwedJobs, undefined);
  return { ...counts, owedJobs, owed, debts: yield* run(findProblems(debtCheck), undefined), problems };
}
