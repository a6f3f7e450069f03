import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadEnvironment, type SettingOptions } from '../config/load-config.ts';
import { readVariables, type Environment } from '../config/read-variables.ts';
import { serverVariables } from '../config/server-settings.ts';
import { embeddedStoreFile } from '../store/open-store.ts';
import { readStoreSettings, storeVariables, type StoreSettings } from '../store/store-settings.ts';
import { CommandError } from './command-error.ts';

/** The settings that a command on the store needs. */
export interface StorePlace extends StoreSettings {
  brand: string;
}

/**
 * Reads the settings of the store and no others, so that an account can be suspended while another setting is wrong.
 * Throws ConfigError or CommandError.
 */
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

/** Tells whether there is a store: a database, or the file of the embedded store. */
export const hasData = ({ databaseUrl, dataDir }: StoreSettings): boolean =>
  databaseUrl !== null || existsSync(embeddedStoreFile(dataDir));

/** Refuses a folder without data of a gateway, which is usually the wrong folder. Throws CommandError. */
export const assertDataExists = (place: StoreSettings): void => {
  if (!hasData(place))
    throw new CommandError(
      'no_data',
      `There is no data in ${resolve(place.dataDir)} yet. Is DATA_DIR or --data-dir right? "accounts create" creates it.`,
    );
};
