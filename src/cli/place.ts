import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadEnvironment, type SettingOptions } from '../config/load-config.ts';
import { serverVariables } from '../config/server-settings.ts';
import { type Environment, readVariables, refuseMisspelt } from '../config/read-variables.ts';
import { s3Variables } from '../http/s3/s3-settings.ts';
import { ConfigError } from '../kit/errors.ts';
import { userName } from '../kit/process.ts';
import { leadsVariables, readFormerPlace, type FormerPlace } from '../leads/leads-settings.ts';
import { leadsFolder } from '../leads/open-lead-index.ts';
import { embeddedStoreFile } from '../store/open-store.ts';
import { readStoreSettings, storeVariables, type StoreSettings } from '../store/store-settings.ts';
import { CommandError } from './command-error.ts';
import { codeOf } from './write-new-file.ts';

export interface StorePlace extends StoreSettings {
  brand: string;
}

/** Reads no other settings, so that an account can be suspended while one is wrong. Throws ConfigError, CommandError. */
export const readStorePlace = (environment: Environment, options: SettingOptions): StorePlace => {
  const place = readAuditPlace(environment, options);
  if (options.dataDir !== undefined && place.databaseUrl !== null)
    throw new CommandError(
      'invalid_setting',
      'DATABASE_URL: it is set, so the data is in PostgreSQL; leave out --data-dir, or unset it',
    );
  return place;
};

/** Reads the same for a command on other data, which --data-dir may name beside a database. Throws ConfigError. */
export const readAuditPlace = (environment: Environment, options: SettingOptions): StorePlace => {
  const all = loadEnvironment(environment, options);
  const values = readVariables({ ...storeVariables, BRAND: serverVariables.BRAND }, all);
  return { ...readStoreSettings(values), brand: values.BRAND };
};

/** Throws CommandError `file_failed` if the path cannot be read. */
const isThere = (path: string): boolean => {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    throw new CommandError(
      'file_failed',
      `${path} cannot be read by the user ${userName()} (${codeOf(cause)}). Run the command as the user of the gateway.`,
      { cause },
    );
  }
};

/** Tells whether there is a store: a database, or the file of the embedded store. Throws CommandError `file_failed`. */
export const hasData = ({ databaseUrl, dataDir }: StoreSettings): boolean =>
  databaseUrl !== null || isThere(embeddedStoreFile(dataDir));

/** Refuses a folder without data of a gateway, which is usually the wrong folder. Throws CommandError. */
export const assertDataExists = (place: StoreSettings): void => {
  if (!hasData(place)) throw noData(place, '"accounts create" creates it.');
};

const noData = ({ dataDir }: StoreSettings, hint: string): CommandError =>
  new CommandError(
    'no_data',
    `There is no data in ${resolve(dataDir)} yet. Is DATA_DIR or --data-dir right? ${hint}`,
  );

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

/** Reads no other settings, so that a person can be deleted while one of them is wrong. Throws ConfigError. */
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

/** As `assertDataExists`, where profiles alone are data too. */
export const assertPlaceExists = (place: LeadPlace): void => {
  const { databaseUrl, dataDir } = place;
  if (databaseUrl === null && ![leadsFolder(dataDir), embeddedStoreFile(dataDir)].some(isThere))
    throw noData(place, '"leads import" creates it, and so does the gateway.');
};

export const describePlace = ({ databaseUrl, dataDir }: LeadPlace): string =>
  databaseUrl === null ? `the embedded index in ${resolve(leadsFolder(dataDir))}` : 'PostgreSQL';
