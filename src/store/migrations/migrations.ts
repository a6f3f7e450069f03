import type { Engine } from './engine.ts';
import { initial } from './0001-initial.ts';
import { webhooksAndMedia } from './0002-webhooks-and-media.ts';
import { paymentUpkeep } from './0003-payment-upkeep.ts';
import { writeProbe } from './0004-write-probe.ts';
import { sandboxAccounts } from './0005-sandbox-accounts.ts';
import { paymentSources } from './0006-payment-sources.ts';
import { madeClips } from './0007-made-clips.ts';

/** All migrations, which run in the order of their names. Never change one that was released. */
export const migrations: Readonly<Record<string, (engine: Engine) => string[]>> = {
  '0001-initial': initial,
  '0002-webhooks-and-media': webhooksAndMedia,
  '0003-payment-upkeep': paymentUpkeep,
  '0004-write-probe': writeProbe,
  '0005-sandbox-accounts': sandboxAccounts,
  '0006-payment-sources': paymentSources,
  '0007-made-clips': madeClips,
};

/** Tells whether exactly these migrations have run. Throws on an unknown one, which a newer version ran. */
export const isCurrent = (executed: readonly string[]): boolean => {
  const names = Object.keys(migrations);
  const unknown = executed.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new Error(
      `a newer version of Causeway has changed this store (migration ${unknown}); start that version, or restore a backup from before the upgrade`,
    );
  return executed.length === names.length && names.every((name) => executed.includes(name));
};
