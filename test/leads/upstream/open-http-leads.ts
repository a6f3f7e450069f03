import { inspect } from 'node:util';
import { onTestFinished } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import { silentLog, type Log } from '../../../src/kit/log.ts';
import type { Lead, LeadQuery, LeadSource } from '../../../src/leads/lead-source.ts';
import { createHttpLeads } from '../../../src/leads/upstream/http-leads.ts';
import { readHttpSettings } from './read-http-settings.ts';
import type { StubService } from './stub-service.ts';

interface OpenOptions {
  environment?: Record<string, string>;
  log?: Log;
}

/** A source that asks the service, until the end of the test. */
export const openHttpLeads = (
  { origin }: StubService,
  settings: Record<string, unknown>,
  { environment, log = silentLog }: OpenOptions,
): LeadSource => {
  const config = readHttpSettings({ url: `${origin}/find`, ...settings }, environment);
  const leads = createHttpLeads(config, { log });
  onTestFinished(() => leads.close());
  return leads;
};

export const search = (
  leads: LeadSource,
  query: Partial<LeadQuery> = {},
  signal = new AbortController().signal,
): Promise<Lead[]> => leads.search({ limit: 20, ...query }, { signal });

export const namesOf = (leads: readonly Lead[]): string[] => leads.map(({ username }) => username);

export const failureOf = async (searching: Promise<unknown>): Promise<AppError> => {
  const error: unknown = await searching.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AppError)) throw new Error(`no AppError: ${inspect(error)}`);
  return error;
};
