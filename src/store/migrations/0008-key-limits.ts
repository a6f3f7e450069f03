import type { Engine } from './engine.ts';

/**
 * Limits of keys. `models`: JSON array of SKUs. `made_by`: `operator`, or the id of the key that made it.
 * `budgeted`: 1 for a hold that counts in `key_use`, the sums of a key in a day (`2026-11-23`) or month (`2026-11`).
 */
export const keyLimits = ({ int64, id, tableEnd }: Engine): string[] => [
  `alter table api_keys add column expires_at ${int64}`,
  `alter table api_keys add column models text`,
  `alter table api_keys add column budget_day ${int64} check (budget_day > 0)`,
  `alter table api_keys add column budget_month ${int64} check (budget_month > 0)`,
  `alter table api_keys add column alert_url text`,
  `alter table api_keys add column made_by text`,
  `alter table holds add column budgeted ${int64}`,
  `create table key_use (
    key_id ${id} not null references api_keys (id),
    period ${id} not null,
    spent ${int64} not null check (spent >= 0),
    held ${int64} not null check (held >= 0),
    primary key (key_id, period)
  )${tableEnd}`,
];
