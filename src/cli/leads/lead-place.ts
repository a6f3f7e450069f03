import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { readConfig } from '../../config/config.ts';
import { ConfigError } from '../../kit/errors.ts';
import { leadsVariables } from '../../leads/leads-settings.ts';
import { refuseMisspelt } from '../../config/setting-names.ts';
import { embeddedStoreFile } from '../../store/open-store.ts';
import { userName } from '../../kit/user-name.ts';
import { CommandError } from '../command-error.ts';
import { withEnvFile, type Environment, type StoreOptions } from '../store-settings.ts';
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

export interface LeadPlaceOptions extends StoreOptions {
  /** --to; absent: the first place that the gateway searches itself, or else the embedded index. */
  to?: LeadPlaceName;
}

const placeSettings = ['LEADS_SOURCES', 'LEADS_DATABASE_URL', 'DATABASE_URL', 'DATA_DIR'];

/** What LEADS_SOURCES names that is kept here. Throws ConfigError, but where the operator has named the place. */
const readPlaceNames = (all: Environment, isNeeded: boolean): LeadPlaceName[] | null => {
  const { success, data, error } = leadsVariables.LEADS_SOURCES.safeParse(all.LEADS_SOURCES || undefined);
  if (success) return leadPlaceNames.filter((name) => data.includes(name)).sort(by(data));
  if (!isNeeded) return null;
  throw new ConfigError(`LEADS_SOURCES: ${error.issues[0]?.message ?? 'is wrong'}`, { cause: error });
};

const by =
  (order: readonly string[]) =>
  (a: string, b: string): number =>
    order.indexOf(a) - order.indexOf(b);

const readUrl = ({ LEADS_DATABASE_URL, DATABASE_URL }: Environment): string => {
  const { leads } = readConfig({ LEADS_SOURCES: 'postgres', LEADS_DATABASE_URL, DATABASE_URL }, null);
  const [source] = leads.sources;
  if (source?.kind !== 'postgres') throw new TypeError('LEADS_SOURCES was not read as it was given');
  return source.url;
};

/**
 * Where profiles are kept, by the settings of the gateway. Other settings are not read, so that a person can be deleted
 * while one of them is wrong. Throws ConfigError or CommandError.
 */
export const readLeadPlace = (
  environment: Environment,
  { to, dataDir, envFile }: LeadPlaceOptions,
): LeadPlace => {
  const all = withEnvFile(environment, envFile);
  refuseMisspelt({ ...all, DATA_DIR: dataDir ?? all.DATA_DIR }, placeSettings);
  const searched = readPlaceNames(all, to === undefined);
  const kind = to ?? searched?.[0] ?? 'embedded';
  const isSearched = searched?.includes(kind) ?? true;
  if (kind === 'postgres') {
    if (dataDir !== undefined)
      throw new CommandError(
        'invalid_setting',
        '--data-dir: the profiles are in PostgreSQL; leave it out, or add --to embedded',
      );
    return { kind, isSearched, url: readUrl(all), embeddedFolder: folderIn(all.DATA_DIR).folder };
  }
  return { kind, isSearched, ...folderIn(dataDir ?? all.DATA_DIR) };
};

const folderIn = (given: string | undefined): { folder: string; dataDir: string } => {
  const { dataDir } = readConfig({ DATA_DIR: given }, null);
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
