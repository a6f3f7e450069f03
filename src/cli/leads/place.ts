import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadEnvironment, type SettingOptions } from '../../config/load-config.ts';
import { readVariables, refuseMisspelt, type Environment } from '../../config/read-variables.ts';
import { s3Variables } from '../../http/s3/s3-settings.ts';
import { leadsVariables, readFormerPlace, type FormerPlace } from '../../leads/leads-settings.ts';
import { leadsFolder } from '../../leads/open-lead-keeper.ts';
import { embeddedStoreFile } from '../../store/open-store.ts';
import { readStoreSettings, storeVariables, type StoreSettings } from '../../store/store-settings.ts';
import { ConfigError } from '../../kit/errors.ts';
import { userName } from '../../kit/user-name.ts';
import { CommandError } from '../command-error.ts';
import { codeOf } from '../write-new-file.ts';

export interface LeadPlace extends StoreSettings {
  /** Whether the gateway searches there; true if LEADS_SOURCES cannot be read. */
  isSearched: boolean;
  formerPlace: FormerPlace | null;
}

const { LEADS_SOURCES, LEADS_URL } = leadsVariables;
const tables = { ...storeVariables, ...s3Variables, LEADS_URL };

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
  const values = readVariables(tables, all);
  return {
    ...readStoreSettings(values),
    formerPlace: readFormerPlace(values),
    isSearched: searchesEmbedded(all),
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
export const assertPlaceExists = ({ databaseUrl, dataDir }: LeadPlace): void => {
  if (databaseUrl !== null || [leadsFolder(dataDir), embeddedStoreFile(dataDir)].some(isThere)) return;
  throw new CommandError(
    'no_data',
    `There is no data in ${resolve(dataDir)} yet. Is DATA_DIR or --data-dir right? "leads import" creates it, and so does the gateway.`,
  );
};

export const describePlace = ({ databaseUrl, dataDir }: LeadPlace): string =>
  databaseUrl === null ? `the embedded index in ${resolve(leadsFolder(dataDir))}` : 'PostgreSQL';
