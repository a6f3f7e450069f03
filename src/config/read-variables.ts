import { z } from 'zod';
import { ConfigError } from '../kit/errors.ts';
import { nearestName } from '../kit/text.ts';
import type { VariableValues } from '../kit/settings.ts';
import { removedVariables } from './variables.ts';

export type Environment = Record<string, string | undefined>;

/**
 * Reads the variables of one table, and no others. Empty variables count as unset. Throws ConfigError with one line that
 * names the variable: one with a wrong value, or one that looks like a misspelt name of the table.
 */
export const readVariables = <Table extends z.ZodRawShape>(
  table: Table,
  environment: Environment,
): VariableValues<Table> => {
  refuseMisspelt(environment, Object.keys(table));
  const present = Object.entries(environment).filter(([, value]) => value !== undefined && value !== '');
  const parsed = z.object(table).safeParse(Object.fromEntries(present));
  if (!parsed.success) throw firstIssue(parsed.error, '');
  return parsed.data as VariableValues<Table>;
};

/** Makes one line of the first issue: `source`, the name of the setting, and what is wrong. */
export const firstIssue = (error: z.ZodError, source: string): ConfigError => {
  // A misspelt key is why another one is missing.
  const issue = error.issues.find(({ code }) => code === 'unrecognized_keys') ?? error.issues[0];
  const name = issue?.path.filter((part) => typeof part === 'string').join('.') ?? '';
  return new ConfigError(`${source}${name === '' ? '' : `${name}: `}${issue?.message ?? 'is wrong'}`);
};

/** Variables that Kubernetes and Docker set for a service with the name of a prefix of ours, as `SEARCH_SERVICE_HOST`. */
const serviceLink = /_(?:SERVICE_(?:HOST|PORT(?:_\w+)?)|PORT(?:_\d+_\w+)?)$/;

const isSet = (environment: Environment, name: string): boolean => (environment[name] ?? '') !== '';

/** Refuses a variable one edit away from an unset setting, which would silently keep its default. Throws ConfigError. */
export const refuseMisspelt = (environment: Environment, settings: readonly string[]): void => {
  const unset = settings.filter((name) => !isSet(environment, name));
  for (const name of Object.keys(environment)) {
    if (settings.includes(name) || !isSet(environment, name)) continue;
    // Another case is also a slip, but shells have their own variables such as `host`.
    const meant = nearestName(name.includes('_') ? name.toUpperCase() : name, unset, 1);
    if (meant !== null)
      throw new ConfigError(
        `${name}: there is no such setting; rename it to ${meant}, or unset it if it is meant for another program`,
      );
  }
};

/** First words of many programs' variables. OpenTelemetry's exporters read more of theirs than we do. */
const commonWords = ['DATABASE', 'OTEL'];

/** Finds the variables that begin like settings of ours and are none, by the first words that several settings share. */
export const findUnknown = (environment: Environment, settings: readonly string[]): string[] => {
  const firstWords = [...settings, ...removedVariables].map((name) => name.split('_')[0]);
  const isOurs = (word = '', index = 0): boolean =>
    firstWords.indexOf(word) !== index && !commonWords.includes(word);
  const ours = new Set(firstWords.filter(isOurs));
  return Object.keys(environment).filter(
    (name) =>
      name.includes('_') &&
      ours.has(name.split('_')[0]) &&
      !settings.includes(name) &&
      isSet(environment, name) &&
      !serviceLink.test(name),
  );
};
