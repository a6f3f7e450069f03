import { statSync } from 'node:fs';
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

interface OpenFile {
  file: string;
  inode: number | undefined;
  search: ReturnType<typeof createSearch>;
  close(): void;
}

let opened: OpenFile | null = null;

const closeFile = (): void => {
  opened?.close();
  opened = null;
};

const open = (file: string): OpenFile['search'] => {
  const inode = statSync(file, { throwIfNoEntry: false })?.ino;
  // A backup may have the same name. A file that was removed is searched on.
  if (opened?.file === file && (inode === undefined || inode === opened.inode)) return opened.search;
  closeFile();
  const database = openToRead(file, { timeoutMs: lockedMs });
  const search = createSearch(database);
  opened = { file, inode, search, close: () => database.close() };
  return search;
};

/* A thread that answers searches, one after the other. It keeps the last file open. */
serveCalls(({ file, query }: SearchCall): SearchAnswer => {
  try {
    return { leads: open(file)(query) };
  } catch (error) {
    if (!isDamage(error)) throw error;
    closeFile();
    return { damage: String(error) };
  }
});
