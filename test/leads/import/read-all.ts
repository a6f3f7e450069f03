import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import type {
  InputProgress,
  LeadInputOptions,
  RejectedRow,
} from '../../../src/leads/import/input-options.ts';
import { openLeadInput } from '../../../src/leads/import/open-lead-input.ts';
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
  batches: Lead[][];
  progress: InputProgress;
}

/** For rows of tests that are about other fields. */
export const plainDefaults = { full_name: '', following: 0, is_verified: false, is_business: false };

/**
 * Everything that an input gives, however many rows are rejected; required fields that a row lacks are plain, unless told
 * otherwise.
 */
export const readAll = async (options: LeadInputOptions): Promise<ReadAll> => {
  const rejected: RejectedRow[] = [];
  const unused: string[] = [];
  const input = await openLeadInput({
    defaults: plainDefaults,
    maxRejected: { percent: 100 },
    onRejected: (rows) => void rejected.push(...rows),
    onUnusedColumns: ({ columns }) => void unused.push(...columns),
    ...options,
  });
  const batches: Lead[][] = [];
  try {
    for await (const batch of input.read({ signal: new AbortController().signal })) batches.push(batch);
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'nothing_imported' && rejected.length > 0)) throw error;
  }
  return { leads: batches.flat(), rejected, unused, batches, progress: input.progress() };
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
