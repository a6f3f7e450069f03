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

let opened: ReturnType<typeof openFile> | null = null;

const openFile = (file: string, inode: number | undefined) => {
  const database = openToRead(file, { timeoutMs: lockedMs });
  return { file, inode, search: createSearch(database), close: () => database.close() };
};

const closeFile = (): void => {
  opened?.close();
  opened = null;
};

const searchIn = (file: string) => {
  const inode = statSync(file, { throwIfNoEntry: false })?.ino;
  // A backup may have the same name. A file that was removed is searched on.
  if (opened?.file === file && (inode === undefined || inode === opened.inode)) return opened.search;
  closeFile();
  opened = openFile(file, inode);
  return opened.search;
};

/* A thread that answers searches, one after the other. It keeps the last file open. */
serveCalls(({ file, query }: SearchCall): SearchAnswer => {
  try {
    return { leads: searchIn(file)(query) };
  } catch (error) {
    if (!isDamage(error)) throw error;
    closeFile();
    return { damage: String(error) };
  }
});
