import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ConfigError } from '../kit/errors.ts';
import { assertEnvFilePrivate, readKeyFiles } from './key-files.ts';
import { maxSearchMs, readHttpSource, type HttpLeadsConfig } from '../leads/upstream/http-source.ts';
import { readConfig, type Config } from './config.ts';
import { readLeadsSection } from './file-settings.ts';
import type { Environment } from './read-variables.ts';

export interface SettingOptions {
  /** --env-file; the environment wins over it. */
  envFile?: string | undefined;
  /** --data-dir; it wins over DATA_DIR. */
  dataDir?: string | undefined;
}

/** Reads the file, which must be there when `isRequired`. Throws ConfigError that names the `setting`. */
const readText = (file: string, { setting, isRequired }: { setting: string; isRequired: boolean }) => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (!isRequired && error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new ConfigError(`${setting}: ${file} cannot be read`, { cause: error });
  }
};

const readEnvFile = (file: string): Environment => {
  const text = readText(file, { setting: '--env-file', isRequired: true }) ?? '';
  assertEnvFilePrivate(file, text);
  return parseEnv(text);
};

/** The environment with the options of the command line. Throws ConfigError with one line that names the setting. */
export const loadEnvironment = (
  environment: Environment,
  { envFile, dataDir }: SettingOptions,
): Environment => ({
  ...(envFile === undefined ? {} : readEnvFile(envFile)),
  ...environment,
  ...(dataDir === undefined ? {} : { DATA_DIR: dataDir }),
});

const readYamlFile = (all: Environment): string | null => {
  const named = all['CAUSEWAY_CONFIG'] || undefined;
  return readText(named ?? 'causeway.yaml', { setting: 'CAUSEWAY_CONFIG', isRequired: named !== undefined });
};

/** Loads all settings: environment, --env-file, key files and causeway.yaml. Rejects with ConfigError, one line. */
export const loadConfig = async (environment: Environment, options: SettingOptions): Promise<Config> => {
  const given = loadEnvironment(environment, options);
  const all = await readKeyFiles(given);
  return readConfig(all, readYamlFile(all), {
    environment: given,
    envFile: options.envFile,
    sourceOf: (name) => {
      if (name === 'DATA_DIR' && options.dataDir !== undefined) return '--data-dir';
      return environment[name] === undefined ? '--env-file' : 'environment';
    },
  });
};

/** Loads no other settings, so that a person can be deleted while one is wrong. Rejects with ConfigError. */
export const loadHttpLeads = async (
  environment: Environment,
  options: SettingOptions,
): Promise<HttpLeadsConfig | undefined> => {
  const all = await readKeyFiles(loadEnvironment(environment, options));
  const section = readLeadsSection(readYamlFile(all))['http'];
  const limits = { totalMs: maxSearchMs, shareMs: maxSearchMs, maxLimit: 1 };
  return section && readHttpSource(section, { environment: all, ...limits });
};
