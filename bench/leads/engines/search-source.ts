import { setTimeout as delay } from 'node:timers/promises';
import type { LeadSource } from '../../../src/leads/lead-source.ts';
import type { OpenEngine } from './engine.ts';

const longestStartMs = 300_000;
const lookEveryMs = 20;

/** A source as the gateway has it, once it answers. */
export const searchSource = async (source: LeadSource): Promise<OpenEngine> => {
  const startedMs = performance.now();
  while (!source.status().ready) {
    if (performance.now() - startedMs > longestStartMs) {
      await source.close();
      throw new Error('The profiles were not ready to be searched within five minutes.');
    }
    await delay(lookEveryMs);
  }
  const { signal } = new AbortController();
  return { search: (query) => source.search(query, { signal }), close: () => source.close() };
};
