import type { Engine } from './engine.ts';
import { initial } from './0001-initial.ts';
import { webhooksAndMedia } from './0002-webhooks-and-media.ts';
import { paymentUpkeep } from './0003-payment-upkeep.ts';
import { writeProbe } from './0004-write-probe.ts';
import { sandboxAccounts } from './0005-sandbox-accounts.ts';
import { paymentSources } from './0006-payment-sources.ts';
import { madeClips } from './0007-made-clips.ts';
import { keyLimits } from './0008-key-limits.ts';
import { operatorAccess } from './0009-operator-access.ts';
import { walletAccounts } from './0010-wallet-accounts.ts';
import { signIn } from './0011-sign-in.ts';
import { boughtPayments } from './0012-bought-payments.ts';
import { settledAmounts } from './0013-settled-amounts.ts';
import { paymentCredits } from './0014-payment-credits.ts';
import { paymentReverts } from './0015-payment-reverts.ts';
import { paymentClaims } from './0016-payment-claims.ts';
import { termsModels } from './0017-terms-models.ts';
import { forgottenPeople } from './0018-forgotten-people.ts';
import { callClaims } from './0019-call-claims.ts';
import { leadSet } from './0020-lead-set.ts';

/** All migrations, which run in the order of their names. Never change one that was released. */
export const migrations: Readonly<Record<string, (engine: Engine) => string[]>> = {
  '0001-initial': initial,
  '0002-webhooks-and-media': webhooksAndMedia,
  '0003-payment-upkeep': paymentUpkeep,
  '0004-write-probe': writeProbe,
  '0005-sandbox-accounts': sandboxAccounts,
  '0006-payment-sources': paymentSources,
  '0007-made-clips': madeClips,
  '0008-key-limits': keyLimits,
  '0009-operator-access': operatorAccess,
  '0010-wallet-accounts': walletAccounts,
  '0011-sign-in': signIn,
  '0012-bought-payments': boughtPayments,
  '0013-settled-amounts': settledAmounts,
  '0014-payment-credits': paymentCredits,
  '0015-payment-reverts': paymentReverts,
  '0016-payment-claims': paymentClaims,
  '0017-terms-models': termsModels,
  '0018-forgotten-people': forgottenPeople,
  '0019-call-claims': callClaims,
  '0020-lead-set': leadSet,
};

/** Returns what is wrong with a store with these executed migrations; null if this version knows all of them. */
export const describeNewerSchema = (executed: readonly string[]): string | null => {
  const unknown = executed.find((name) => !(name in migrations));
  return unknown === undefined
    ? null
    : `a newer version of Causeway has changed this store (migration ${unknown}); start that version, or restore a backup from before the upgrade`;
};

/**
 * Returns the statements that bring a store with these executed migrations to the newest schema, and note them in
 * `kysely_migration`; empty if it is current. Throws on an unknown migration, which a newer version ran.
 */
export const missingStatements = (executed: readonly string[], engine: Engine): string[] => {
  const problem = describeNewerSchema(executed);
  if (problem !== null) throw new Error(problem);
  const missing = Object.entries(migrations).filter(([name]) => !executed.includes(name));
  if (missing.length === 0) return [];
  const time = new Date().toISOString();
  return [
    `create table if not exists kysely_migration
      (name varchar(255) not null primary key, timestamp varchar(255) not null)`,
    ...missing.flatMap(([name, build]) => [
      ...build(engine),
      `insert into kysely_migration (name, timestamp) values ('${name}', '${time}')`,
    ]),
  ];
};
