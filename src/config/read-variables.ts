import { z } from 'zod';
import { ConfigError } from '../kit/errors.ts';
import { refuseMisspelt, type Environment } from './setting-names.ts';
import type { VariableValues } from '../kit/settings.ts';

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
