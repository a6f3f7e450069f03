import type { Engine } from './engine.ts';

/** The nonces of sign-ins that were used. Each is kept until its signature has expired. */
export const signIn = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table spent_nonces (
    nonce ${id} not null primary key,
    expires_at ${int64} not null
  )${tableEnd}`,
  `create index spent_nonces_by_expiry on spent_nonces (expires_at)`,
];
