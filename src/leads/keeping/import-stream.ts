import { systemClock } from '../../kit/clock.ts';
import type { ImportedProfiles } from '../import/import-profiles.ts';
import { importProfiles } from '../import/import-profiles.ts';
import type { LeadInputOptions, RejectedRow } from '../import/input-options.ts';
import { openLeadInput } from '../import/open-lead-input.ts';
import { createWatchedInput, type RejectedLimit } from '../import/watched-input.ts';
import type { ImportRequest, LeadKeeper } from '../lead-keeper.ts';

export interface StreamImport
  extends
    Pick<ImportRequest, 'mode'>,
    Pick<LeadInputOptions, 'columns' | 'defaults' | 'delimiter' | 'hasHeader'> {
  format?: 'csv' | 'jsonl' | undefined;
  maxRejected: RejectedLimit | null;
}

export interface ImportedStream extends ImportedProfiles {
  rejected: number;
  firstRejected: readonly RejectedRow[];
}

const maxFirstRejected = 20;

/** Imports a stream that can be read once, such as the body of a request. A stream that breaks off changes nothing. */
export const importStream = async (
  keeper: LeadKeeper,
  { mode, maxRejected, ...options }: StreamImport,
  stdin: NodeJS.ReadableStream,
): Promise<ImportedStream> => {
  const firstRejected: RejectedRow[] = [];
  const input = await openLeadInput({
    ...options,
    files: ['-'],
    stdin,
    onRejected: (row) => void (firstRejected.length < maxFirstRejected && firstRejected.push(row)),
  });
  const imported = await importProfiles(keeper, {
    input: createWatchedInput({ input, report: null, limit: maxRejected }),
    mode,
    signal: new AbortController().signal,
    clock: systemClock,
  });
  return { ...imported, rejected: input.progress().rejected, firstRejected };
};
