import type { Config } from '../../config/config.ts';
import { callWithin } from '../../kit/deadline.ts';
import { ConfigError } from '../../kit/errors.ts';
import { checkCards } from './check-cards.ts';
import { checkFolders, checkProfiles } from './check-folders.ts';
import { checkMounts, mountsMs } from './check-mounts.ts';
import { checkPayments } from './check-payments.ts';
import { checkAddresses, checkAlerts, checkBuckets, checkProviders, checkRedis } from './check-services.ts';
import { checkNode, checkSettings } from './check-settings.ts';
import { checkStore } from './check-store.ts';
import { listOf, problem, type Check, type Finding, type Findings } from './finding.ts';

/** Longer than the time-outs of single calls, so that those say what did not answer. */
const timeoutMs = 20_000;

export interface Report extends Finding {
  check: string;
}

/** All checks but that of Node, which needs no settings. Their names stand before their findings. */
const checks: Readonly<Record<string, Check>> = {
  settings: checkSettings,
  folders: checkFolders,
  store: checkStore,
  redis: checkRedis,
  buckets: checkBuckets,
  payments: checkPayments,
  cards: checkCards,
  providers: checkProviders,
  leads: checkProfiles,
  addresses: checkAddresses,
  alerts: checkAlerts,
  mounts: checkMounts,
};

/** Checks that take longer. */
const timeouts: Readonly<Record<string, number>> = { mounts: mountsMs };

/** Runs all checks at once. Without settings that can be read there is little to check. Never rejects. */
export const runChecks = async (loadConfig: () => Promise<Config>): Promise<Report[]> => {
  const reports = [runOne('node', checkNode)];
  try {
    const config = await loadConfig();
    for (const [name, look] of Object.entries(checks))
      reports.push(runOne(name, async (signal) => look(config, signal)));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const remedy = 'Correct this setting, and run the command again; nothing else was checked.';
    reports.push(runOne('settings', async () => problem(`${error.message}.`, remedy)));
  }
  return (await Promise.all(reports)).flat();
};

const runOne = async (check: string, look: (signal: AbortSignal) => Promise<Findings>): Promise<Report[]> => {
  const limitMs = timeouts[check] ?? timeoutMs;
  const found = await callWithin({ call: look, timeoutMs: limitMs }).catch((error: unknown) =>
    toProblem(error, limitMs),
  );
  return listOf(found).map((finding) => ({ check, ...finding }));
};

const toProblem = (error: unknown, limitMs: number): Finding =>
  error instanceof Error && error.name === 'TimeoutError'
    ? problem(`There was no answer within ${limitMs / 1_000} s.`, 'Look whether what is named there answers.')
    : problem(
        `The check itself failed: ${error instanceof Error ? error.message : String(error)}.`,
        'Report this; the gateway may work all the same.',
      );
