import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadEnvironment, type SettingOptions } from '../../config/load-config.ts';
import { readVariables } from '../../config/read-variables.ts';
import { leadsVariables } from '../../leads/leads-settings.ts';
import { postgresSource } from '../../leads/postgres/postgres-source.ts';
import { refuseMisspelt, type Environment } from '../../config/setting-names.ts';
import { embeddedStoreFile } from '../../store/open-store.ts';
import { storeVariables } from '../../store/store-settings.ts';
import { userName } from '../../kit/user-name.ts';
import { CommandError } from '../command-error.ts';
import { codeOf } from '../write-trouble.ts';

export const leadPlaceNames = ['embedded', 'postgres'] as const;
export type LeadPlaceName = (typeof leadPlaceNames)[number];

/** Where the profiles are that a command works on. */
export type LeadPlace = {
  /** Whether the gateway searches there, as far as LEADS_SOURCES can be read. */
  isSearched: boolean;
} & (
  | {
      kind: 'embedded';
      /** The folder of the index, whole. */
      folder: string;
      dataDir: string;
    }
  | {
      kind: 'postgres';
      url: string;
      /** The folder of an embedded index, which may not be there. */
      embeddedFolder: string;
    }
);

export interface LeadPlaceOptions extends SettingOptions {
  /** --to; absent: the first place that the gateway searches itself, or else the embedded index. */
  to?: LeadPlaceName;
}

const { LEADS_SOURCES } = leadsVariables;
const { DATA_DIR, DATABASE_URL } = storeVariables;
const placeVariables = ['LEADS_SOURCES', 'LEADS_DATABASE_URL', 'DATABASE_URL', 'DATA_DIR'];

const isPlaceName = (name: string): name is LeadPlaceName => leadPlaceNames.some((place) => place === name);

/** Reads the places in LEADS_SOURCES. Null: they cannot be read, and the operator has named the place. Throws ConfigError. */
const readPlaceNames = (all: Environment, isNeeded: boolean): LeadPlaceName[] | null => {
  try {
    return readVariables({ LEADS_SOURCES }, all).LEADS_SOURCES.filter(isPlaceName);
  } catch (error) {
    if (isNeeded) throw error;
    return null;
  }
};

const readUrl = (all: Environment): string => {
  const values = readVariables({ ...postgresSource.variables, DATABASE_URL }, all);
  const times = { totalMs: 0, shareMs: 0 };
  return postgresSource.read({}, { values, environment: all, maxLimit: 0, ...times }).url;
};

/**
 * Where profiles are kept, by the settings of the gateway. Other settings are not read, so that a person can be deleted
 * while one of them is wrong. Throws ConfigError or CommandError.
 */
export const readLeadPlace = (environment: Environment, { to, ...options }: LeadPlaceOptions): LeadPlace => {
  const all = loadEnvironment(environment, options);
  refuseMisspelt(all, placeVariables);
  const searched = readPlaceNames(all, to === undefined);
  const kind = to ?? searched?.[0] ?? 'embedded';
  const isSearched = searched?.includes(kind) ?? true;
  if (kind === 'postgres') {
    if (options.dataDir !== undefined)
      throw new CommandError(
        'invalid_setting',
        '--data-dir: the profiles are in PostgreSQL; leave it out, or add --to embedded',
      );
    return { kind, isSearched, url: readUrl(all), embeddedFolder: folderIn(all).folder };
  }
  return { kind, isSearched, ...folderIn(all) };
};

const folderIn = (all: Environment): { folder: string; dataDir: string } => {
  const { DATA_DIR: dataDir } = readVariables({ DATA_DIR }, all);
  return { folder: resolve(dataDir, 'leads'), dataDir };
};

/** Throws CommandError `leads_failed` where it cannot be known. */
const isThere = (path: string): boolean => {
  try {
    statSync(path);
    return true;
  } catch (cause) {
    const code = codeOf(cause);
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw new CommandError(
      'leads_failed',
      `${path} cannot be looked at by the user ${userName()} (${code}). Run the command as the user that the gateway runs as.`,
      { cause },
    );
  }
};

/** Refuses a folder in which no gateway ever kept anything, which is most often the wrong one. Throws CommandError. */
export const assertPlaceExists = (place: LeadPlace): void => {
  if (place.kind !== 'embedded') return;
  if ([place.folder, embeddedStoreFile(place.dataDir)].some(isThere)) return;
  throw new CommandError(
    'no_data',
    `There is no data in ${resolve(place.dataDir)} yet. Is DATA_DIR or --data-dir right? "leads import" makes it, and so does a gateway that starts.`,
  );
};

/** The place for people. It never shows the URL, which may carry a password. */
export const describePlace = (place: LeadPlace): string =>
  place.kind === 'embedded' ? `the embedded index in ${place.folder}` : 'PostgreSQL';
