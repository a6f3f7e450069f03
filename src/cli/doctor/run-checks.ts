import type { Config } from '../../config/config.ts';
import { callWithin } from '../../kit/deadline.ts';
import { ConfigError } from '../../kit/errors.ts';
import { addressesCheck } from './check-addresses.ts';
import { foldersCheck } from './check-folders.ts';
import { leadsCheck } from './check-leads.ts';
import { paymentsCheck } from './check-payments.ts';
import { providersCheck } from './check-providers.ts';
import { bucketsCheck, redisCheck } from './check-services.ts';
import { nodeCheck, settingsCheck } from './check-settings.ts';
import { storeCheck } from './check-store.ts';
import { problem, type Check, type Finding } from './finding.ts';

/** Longer than the time-outs of single calls, so that those say what did not answer. */
const timeoutMs = 20_000;

/** A finding with the name of its check. */
export interface Report extends Finding {
  check: string;
}

/** Runs all checks at once. Without settings that can be read there is little to check. Never rejects. */
export const runChecks = async (loadConfig: () => Promise<Config>): Promise<Report[]> => {
  let checks: Check[];
  try {
    const config = await loadConfig();
    checks = [
      nodeCheck,
      settingsCheck(config),
      foldersCheck(config),
      storeCheck(config),
      redisCheck(config),
      bucketsCheck(config),
      paymentsCheck(config),
      providersCheck(config),
      leadsCheck(config),
      addressesCheck(config),
    ];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const refused = problem(
      `${error.message}.`,
      'Correct this setting, and run the command again; nothing else was checked.',
    );
    checks = [nodeCheck, { name: 'settings', look: async () => [refused] }];
  }
  return (await Promise.all(checks.map(runOne))).flat();
};

const runOne = async ({ name, look }: Check): Promise<Report[]> => {
  const findings = await callWithin({ call: look, timeoutMs }).catch((error: unknown) => [toProblem(error)]);
  return findings.map((finding) => ({ check: name, ...finding }));
};

const toProblem = (error: unknown): Finding =>
  error instanceof Error && error.name === 'TimeoutError'
    ? problem(
        `There was no answer within ${timeoutMs / 1_000} s.`,
        'Look whether what is named there answers.',
      )
    : problem(
        `The check itself failed: ${error instanceof Error ? error.message : String(error)}.`,
        'Report this; the gateway may work all the same.',
      );
