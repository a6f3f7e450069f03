import type { Engine } from '../engine.ts';

const appendOnly = {
  sqlite: [
    `create trigger ledger_entries_refuse_update before update on ledger_entries
      begin select raise(abort, 'ledger entries are append-only'); end`,
    `create trigger ledger_entries_refuse_delete before delete on ledger_entries
      begin select raise(abort, 'ledger entries are append-only'); end`,
  ],
  postgres: [
    `create function refuse_ledger_change() returns trigger language plpgsql as
      $$ begin raise exception 'ledger entries are append-only'; end $$`,
    `create trigger ledger_entries_refuse_change before update or delete on ledger_entries
      for each row execute function refuse_ledger_change()`,
    `create trigger ledger_entries_refuse_truncate before truncate on ledger_entries
      for each statement execute function refuse_ledger_change()`,
  ],
} satisfies Record<Engine['kind'], string[]>;

/** All movements of money. `payment`: the payment that an entry comes from. */
export const ledger = ({ kind, int64, id, tableEnd }: Engine): string[] => [
  `create table ledger_entries (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    type text not null check (type in ('topup', 'debit', 'refund', 'adjustment')),
    amount ${int64} not null,
    job_id ${id} references jobs (id),
    payment ${id},
    note text,
    created_at ${int64} not null,
    check (
      (type = 'topup' and amount > 0 and job_id is null)
      or (type = 'debit' and amount < 0 and job_id is not null)
      or (type = 'refund' and amount > 0 and job_id is not null)
      or (type = 'adjustment' and job_id is null)
    )
  )${tableEnd}`,
  `create index ledger_entries_by_account on ledger_entries (account_id, created_at desc, id desc)`,
  `create unique index ledger_entries_one_debit_per_job on ledger_entries (job_id) where type = 'debit'`,
  `create index ledger_entries_of_payments on ledger_entries (payment) where payment is not null`,
  ...appendOnly[kind],
];
