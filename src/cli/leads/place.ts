import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadEnvironment, type SettingOptions } from '../../config/load-config.ts';
import { readVariables } from '../../config/read-variables.ts';
import { s3Variables } from '../../http/s3/s3-settings.ts';
import { embeddedVariables } from '../../leads/embedded/embedded-source.ts';
import { toKeptPlace, type KeptPlace } from '../../leads/keeping/open-lead-keeper.ts';
import { addressOf, readPlaceConfig } from '../../leads/shared/shared-place.ts';
import { leadsVariables } from '../../leads/leads-settings.ts';
import { refuseMisspelt, type Environment } from '../../config/setting-names.ts';
import { embeddedStoreFile } from '../../store/open-store.ts';
import { storeVariables } from '../../store/store-settings.ts';
import { ConfigError } from '../../kit/errors.ts';
import { userName } from '../../kit/user-name.ts';
import { CommandError } from '../command-error.ts';
import { codeOf } from '../write-new-file.ts';

export interface LeadPlace extends KeptPlace {
  /** Whether the gateway searches there; true if LEADS_SOURCES cannot be read. */
  isSearched: boolean;
  dataDir: string;
}

const { LEADS_SOURCES } = leadsVariables;
const { DATA_DIR } = storeVariables;
const tables = { ...embeddedVariables, ...s3Variables, DATA_DIR };

/** A person can be deleted while LEADS_SOURCES is wrong. */
const searchesEmbedded = (all: Environment): boolean => {
  try {
    return readVariables({ LEADS_SOURCES }, all).LEADS_SOURCES.includes('embedded');
  } catch (error) {
    if (error instanceof ConfigError) return true;
    throw error;
  }
};

/**
 * Reads the place of the profiles from the settings of the gateway. It reads no other settings, so that a person can be
 * deleted while one of them is wrong. Throws ConfigError.
 */
export const readLeadPlace = (environment: Environment, options: SettingOptions): LeadPlace => {
  const all = loadEnvironment(environment, options);
  refuseMisspelt(all, ['LEADS_SOURCES', ...Object.keys(tables)]);
  const { DATA_DIR: dataDir, LEADS_URL: url, ...values } = readVariables(tables, all);
  const shared = url === undefined ? null : readPlaceConfig(url, values);
  return {
    ...toKeptPlace({ shared, dataDir }),
    isSearched: searchesEmbedded(all),
    dataDir,
  };
};

/** Throws CommandError `leads_failed` if the path cannot be read. */
const isThere = (path: string): boolean => {
  try {
    statSync(path);
    return true;
  } catch (cause) {
    const code = codeOf(cause);
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw new CommandError(
      'leads_failed',
      `${path} cannot be read by the user ${userName()} (${code}). Run the command as the user of the gateway.`,
      { cause },
    );
  }
};

/** Refuses a folder without data of a gateway, which is usually the wrong folder. Throws CommandError. */
export const assertPlaceExists = ({ shared, folder, dataDir }: LeadPlace): void => {
  if (shared !== null || [folder, embeddedStoreFile(dataDir)].some(isThere)) return;
  throw new CommandError(
    'no_data',
    `There is no data in ${resolve(dataDir)} yet. Is DATA_DIR or --data-dir right? "leads import" creates it, and so does the gateway.`,
  );
};

export const describePlace = ({ shared, folder }: LeadPlace): string =>
  shared === null ? `the embedded index in ${folder}` : addressOf(shared);
