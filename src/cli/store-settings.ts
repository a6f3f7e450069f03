import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { readConfig, type Config } from '../config/config.ts';
import { refuseMisspelt } from '../config/setting-names.ts';
import { assertEnvFilePrivate, readKeyFiles } from '../kit/key-files.ts';
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
  const all = withEnvFile(environment, envFile);
  if (dataDir !== undefined && all.DATABASE_URL)
    throw new CommandError(
      'invalid_setting',
      'DATABASE_URL: it is set, so the data is in PostgreSQL; leave out --data-dir, or unset it',
    );
  const settings = { DATABASE_URL: all.DATABASE_URL, DATA_DIR: dataDir ?? all.DATA_DIR, BRAND: all.BRAND };
  refuseMisspelt({ ...all, ...settings }, Object.keys(settings));
  return readConfig(settings, null);
};

/**
 * The whole configuration, read as the gateway reads it, for commands that work as the gateway does. Throws ConfigError
 * or CommandError.
 */
export const readGatewayConfig = async (
  environment: Environment,
  { dataDir, envFile }: StoreOptions,
): Promise<Config> => {
  const all = await readKeyFiles(withEnvFile(environment, envFile));
  return readConfig(
    { ...all, DATA_DIR: dataDir ?? all.DATA_DIR },
    readConfigFile(all.CAUSEWAY_CONFIG || null),
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

/** The environment over what --env-file has. Throws ConfigError or CommandError. */
export const withEnvFile = (environment: Environment, envFile: string | undefined): Environment => ({
  ...(envFile === undefined ? {} : readEnvFile(envFile)),
  ...environment,
});

/** The text of the file that is named, or of causeway.yaml here, which need not be there. */
const readConfigFile = (named: string | null): string | null => {
  if (named === null && !existsSync('causeway.yaml')) return null;
  try {
    return readFileSync(named ?? 'causeway.yaml', 'utf8');
  } catch (cause) {
    throw new CommandError('invalid_setting', `CAUSEWAY_CONFIG: ${named ?? 'causeway.yaml'} cannot be read`, {
      cause,
    });
  }
};

const readEnvFile = (path: string): Environment => {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new CommandError('invalid_setting', `--env-file: ${path} cannot be read`, { cause });
  }
  assertEnvFilePrivate(path, text);
  return parseEnv(text);
};
