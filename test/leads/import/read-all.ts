import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { LeadInputOptions, RejectedRow } from '../../../src/leads/import/input-options.ts';
import { openLeadInput } from '../../../src/leads/import/open-lead-input.ts';
import type { LeadBatch } from '../../../src/leads/lead-keeper.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';

/** A folder that is gone when the test is over. */
export const createFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-lead-input-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

export const writeTemporary = async (name: string, content: string | Uint8Array): Promise<string> => {
  const file = join(await createFolder(), name);
  await writeFile(file, content);
  return file;
};

export interface ReadAll {
  leads: Lead[];
  rejected: RejectedRow[];
  unused: string[];
  batches: LeadBatch[];
}

/** For rows of tests that are about other fields. */
export const plainDefaults = { full_name: '', following: 0, is_verified: false, is_business: false };

/** Everything that an input gives, from `after` on; required fields that a row lacks are plain, unless told otherwise. */
export const readAll = async (
  options: LeadInputOptions,
  after: LeadBatch['position'] = null,
): Promise<ReadAll> => {
  const rejected: RejectedRow[] = [];
  const unused: string[] = [];
  const batches: LeadBatch[] = [];
  const input = await openLeadInput({
    defaults: plainDefaults,
    onRejected: (row) => void rejected.push(row),
    onUnusedColumns: ({ columns }) => void unused.push(...columns),
    ...options,
  });
  for await (const batch of input.read({ after, signal: new AbortController().signal })) batches.push(batch);
  return { leads: batches.flatMap(({ leads }) => leads), rejected, unused, batches };
};

/** What `readAll` gives of a file with this content. */
export const readText = async (
  name: string,
  content: string | Uint8Array,
  options: Omit<LeadInputOptions, 'files'> = {},
): Promise<ReadAll> => readAll({ ...options, files: [await writeTemporary(name, content)] });

/** Line and problem of each refused row. */
export const refusals = ({ rejected }: ReadAll): [number, string][] =>
  rejected.map(({ line, problem }) => [line, problem]);

export const usernames = ({ leads }: { leads: readonly Lead[] }): string[] =>
  leads.map(({ username }) => username);
