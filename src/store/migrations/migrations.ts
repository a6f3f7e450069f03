import type { Engine } from './engine.ts';
import { initial } from './0001-initial.ts';
import { webhooksAndMedia } from './0002-webhooks-and-media.ts';
import { paymentUpkeep } from './0003-payment-upkeep.ts';

/** All migrations by name; they run in the order of their names, and one that has run never changes. */
export const migrations: Readonly<Record<string, (engine: Engine) => string[]>> = {
  '0001-initial': initial,
  '0002-webhooks-and-media': webhooksAndMedia,
  '0003-payment-upkeep': paymentUpkeep,
};

/** Whether exactly these migrations have run. */
export const isCurrent = (executed: readonly string[]): boolean => {
  const names = Object.keys(migrations);
  return executed.length === names.length && names.every((name) => executed.includes(name));
};
