import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { loadEnvironment, type SettingOptions } from '../../config/load-config.ts';
import { readVariables } from '../../config/read-variables.ts';
import { leadsVariables } from '../../leads/leads-settings.ts';
import { postgresSource } from '../../leads/postgres/postgres-source.ts';
import { refuseMisspelt, type Environment } from '../../config/setting-names.ts';
import { embeddedStoreFile } from '../../store/open-store.ts';
import { storeVariables } from '../../store/store-settings.ts';
import { userName } from '../../kit/user-name.ts';
import { CommandError } from '../command-error.ts';
import { codeOf } from '../write-new-file.ts';

export const leadPlaceNames = ['embedded', 'postgres'] as const;
export type LeadPlaceName = (typeof leadPlaceNames)[number];

/** The place of the profiles of a command. */
export type LeadPlace = {
  /** Whether the gateway searches there; true if LEADS_SOURCES cannot be read. */
  isSearched: boolean;
} & (
  | {
      kind: 'embedded';
      /** The absolute path of the index. */
      folder: string;
      dataDir: string;
    }
  | {
      kind: 'postgres';
      url: string;
      /** The absolute path of an embedded index, which may not exist. */
      embeddedFolder: string;
    }
);

/** The option --to of commands on profiles. */
export const placeOption = (): Option =>
  new Option(
    '--to <place>',
    'the profiles in this place (default: the first of LEADS_SOURCES that is one of these, or embedded)',
  ).choices(leadPlaceNames);

export interface LeadPlaceOptions extends SettingOptions {
  /** --to. Default: the first place in LEADS_SOURCES, or else the embedded index. */
  to?: LeadPlaceName | undefined;
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
 * Reads the place of the profiles from the settings of the gateway. It reads no other settings, so that a person can be
 * deleted while one of them is wrong. Throws ConfigError or CommandError.
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
export const assertPlaceExists = (place: LeadPlace): void => {
  if (place.kind !== 'embedded') return;
  if ([place.folder, embeddedStoreFile(place.dataDir)].some(isThere)) return;
  throw new CommandError(
    'no_data',
    `There is no data in ${resolve(place.dataDir)} yet. Is DATA_DIR or --data-dir right? "leads import" creates it, and so does the gateway.`,
  );
};

/** Never shows the URL, which may have a password. */
export const describePlace = (place: LeadPlace): string =>
  place.kind === 'embedded' ? `the embedded index in ${place.folder}` : 'PostgreSQL';
