import { vi } from 'vitest';
import type { LeadSource } from '../../../src/leads/lead-source.ts';

/** Resolves when there are profiles that can be searched. */
export const whenReady = async (leads: LeadSource): Promise<void> => {
  await vi.waitUntil(() => leads.status().ready && leads.status().profiles !== 0, { timeout: 60_000 });
};

/** The names of all who are found, each once. */
export const namesFound = async (leads: LeadSource): Promise<string[]> => [
  ...new Set(
    (await leads.search({ limit: 100 }, { signal: new AbortController().signal })).map(
      ({ full_name: name }) => name,
    ),
  ),
];

export const namesWhenReady = async (leads: LeadSource): Promise<string[]> => {
  await whenReady(leads);
  return namesFound(leads);
};
