import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { readConfig, type Config } from '../config.ts';
import { embeddedStoreFile } from '../store/open-store.ts';
import { CommandError } from './command-error.ts';

export type Environment = Record<string, string | undefined>;

export interface StoreOptions {
  /** --data-dir */
  dataDir?: string;
  /** --env-file */
  envFile?: string;
}

export type StoreSettings = Pick<Config, 'databaseUrl' | 'dataDir' | 'brand'>;

/**
 * Where the gateway's data is, read as the gateway reads it. Only the settings that a command needs are read, so
 * that an account can be suspended while another setting is wrong. What the environment says wins over the file.
 * Throws ConfigError or CommandError.
 */
export const readStoreSettings = (
  environment: Environment,
  { dataDir, envFile }: StoreOptions,
): StoreSettings => {
  const all: Environment = { ...(envFile === undefined ? {} : readEnvFile(envFile)), ...environment };
  if (dataDir !== undefined && all.DATABASE_URL)
    throw new CommandError(
      'invalid_setting',
      'DATABASE_URL: it is set, so the data is in PostgreSQL; leave out --data-dir, or unset it',
    );
  return readConfig(
    { DATABASE_URL: all.DATABASE_URL, DATA_DIR: dataDir ?? all.DATA_DIR, BRAND: all.BRAND },
    null,
  );
};

/** Refuses a folder without a gateway's data, which is most often the wrong folder. Throws CommandError. */
export const assertDataExists = ({ databaseUrl, dataDir }: StoreSettings): void => {
  if (databaseUrl === null && !existsSync(embeddedStoreFile(dataDir)))
    throw new CommandError(
      'no_data',
      `There is no data in ${resolve(dataDir)} yet. Is DATA_DIR or --data-dir right? "accounts create" makes it.`,
    );
};

const readEnvFile = (path: string): Environment => {
  try {
    return parseEnv(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new CommandError('invalid_setting', `--env-file: ${path} cannot be read`, { cause });
  }
};
