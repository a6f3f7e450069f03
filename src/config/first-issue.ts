import type { z } from 'zod';
import { ConfigError } from '../kit/errors.ts';

/** Makes one line of the first issue: `source`, the name of the setting, and what is wrong. */
export const firstIssue = (error: z.ZodError, source: string): ConfigError => {
  // A misspelt key is why another one is missing.
  const issue = error.issues.find(({ code }) => code === 'unrecognized_keys') ?? error.issues[0];
  const name = issue?.path.filter((part) => typeof part === 'string').join('.') ?? '';
  return new ConfigError(`${source}${name === '' ? '' : `${name}: `}${issue?.message ?? 'is wrong'}`);
};
