import type { Engine } from './engine.ts';

/**
 * `source`: the account that pays, to sum all open payments of one account.
 * `unchecked`: 1 for a payment that was settled because a facilitator said so, without a check on the chain.
 */
export const paymentSources = ({ int64, id }: Engine): string[] => [
  `alter table payments add column source ${id}`,
  `alter table payments add column unchecked ${int64} not null default 0`,
  `update payments set source = lower(payer)
    where state in ('verified', 'produced', 'broadcasting', 'unknown') and network like 'eip155:%'`,
  `create index payments_open_of_source on payments (source, network, asset)
    where state in ('verified', 'produced', 'broadcasting', 'unknown')`,
  `create index payments_unchecked on payments (network, asset) where unchecked = 1`,
];
