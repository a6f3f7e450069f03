import type { Engine } from './engine.ts';

/** `reverts`: how many transactions of a payment's settlement the chain reverted, to count them by the account that pays. */
export const paymentReverts = ({ int64 }: Engine): string[] => [
  `alter table payments add column reverts ${int64} not null default 0`,
  `create index payments_reverted_of_source on payments (source, network) where reverts > 0`,
];
