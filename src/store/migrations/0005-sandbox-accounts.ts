import type { Engine } from './engine.ts';

/** Marks accounts with sandbox credit. The account of a first start is one; it has the same id everywhere. */
export const sandboxAccounts = ({ int64 }: Engine): string[] => [
  `alter table accounts add column sandbox ${int64} not null default 0`,
  `update accounts set sandbox = 1 where id = '5a0db0e5-0000-4000-8000-000000000001'`,
];
