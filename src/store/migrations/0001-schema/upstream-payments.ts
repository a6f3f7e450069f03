import type { Engine } from '../engine.ts';

/**
 * Payments to upstreams. `request`: digest of the upstream, the job and the request. `price`: nano-dollars. `day`: the UTC
 * day in whose budget it counts, such as `2026-11-23`. `bought_days`: the sums of these days.
 */
export const upstreamPayments = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table bought_payments (
    identity ${id} not null primary key,
    request ${id} not null,
    upstream ${id} not null,
    operation ${id} not null,
    job_id ${id},
    sold_payment ${id},
    network text not null,
    asset text not null,
    pay_to text not null,
    amount ${int64} not null check (amount > 0),
    price ${int64} not null check (price > 0),
    day ${id} not null,
    payload text not null,
    requirements text not null,
    state text not null check (state in ('sent', 'answered', 'lost', 'unused')),
    transaction_id text,
    reason text,
    lease_until ${int64} not null,
    check_at ${int64},
    created_at ${int64} not null,
    updated_at ${int64} not null
  )${tableEnd}`,
  `create unique index bought_payments_of_jobs on bought_payments (request)
    where job_id is not null and state <> 'unused'`,
  `create index bought_payments_by_request on bought_payments (request, created_at)`,
  `create index bought_payments_to_check on bought_payments (check_at) where check_at is not null`,
  `create index bought_payments_by_time on bought_payments (created_at, identity)`,
  `create table bought_days (
    upstream ${id} not null,
    day ${id} not null,
    spent ${int64} not null check (spent >= 0),
    primary key (upstream, day)
  )${tableEnd}`,
];
