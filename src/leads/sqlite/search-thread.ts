import { serveCalls } from '../../kit/threads/serve-calls.ts';
import type { Lead, LeadQuery } from '../lead-source.ts';
import { createSearch, isDamage, openToRead } from './profiles-file.ts';

export interface SearchCall {
  /** The path of the profiles. */
  file: string;
  query: LeadQuery;
}

/** `damage`: why the file cannot be searched. */
export type SearchAnswer = { leads: Lead[] } | { damage: string };

/** A deletion locks the file for some milliseconds. */
const lockedMs = 1_000;

let opened: { file: string; search: ReturnType<typeof createSearch>; close(): void } | null = null;

const open = (file: string): ReturnType<typeof createSearch> => {
  if (opened?.file === file) return opened.search;
  opened?.close();
  opened = null;
  const database = openToRead(file, { timeoutMs: lockedMs });
  const search = createSearch(database);
  opened = { file, search, close: () => database.close() };
  return search;
};

/* A thread that answers searches, one after the other. It keeps the last file open. */
serveCalls(({ file, query }: SearchCall): SearchAnswer => {
  try {
    return { leads: open(file)(query) };
  } catch (error) {
    if (isDamage(error)) return { damage: String(error) };
    throw error;
  }
});
