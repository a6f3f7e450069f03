import type { Readable } from 'node:stream';
import { systemClock } from '../../kit/clock.ts';
import { AppError, toAppError } from '../../kit/errors.ts';
import type { InputProgress, LeadInputOptions, RejectedRow } from './input-options.ts';
import { openLeadInput } from './open-lead-input.ts';
import type { ImportedProfiles, ImportRequest, LeadKeeper } from '../lead-keeper.ts';

export interface StreamImport
  extends
    Pick<ImportRequest, 'mode'>,
    Pick<LeadInputOptions, 'columns' | 'defaults' | 'delimiter' | 'hasHeader' | 'maxRejected'> {
  format?: 'csv' | 'jsonl' | undefined;
}

export interface ImportedStream extends ImportedProfiles {
  input: InputProgress;
  firstRejected: readonly RejectedRow[];
}

const maxFirstRejected = 20;
/** A refusal has no more of them. */
const maxInRefusal = 3;

/** Imports a stream that can be read once, such as the body of a request. A stream that breaks off changes nothing. */
export const importStream = async (
  keeper: LeadKeeper,
  { mode, ...options }: StreamImport,
  stdin: Readable,
): Promise<ImportedStream> => {
  const firstRejected: RejectedRow[] = [];
  const input = await openLeadInput({
    ...options,
    files: ['-'],
    stdin,
    onRejected: (rows) => firstRejected.push(...rows.slice(0, maxFirstRejected - firstRejected.length)),
  });
  const { signal } = new AbortController();
  try {
    const startedAt = systemClock.now();
    const outcome = await keeper.importLeads({ input, mode, signal });
    const durationMs = systemClock.now() - startedAt;
    return { mode, outcome, durationMs, input: input.progress(), firstRejected };
  } catch (error) {
    throw withProblems(error, firstRejected);
  }
};

/** Adds the first problems to a refusal of rows. */
const withProblems = (error: unknown, rejected: readonly RejectedRow[]): unknown => {
  const { code, message } = toAppError(error);
  if (code !== 'too_many_rejected' && code !== 'nothing_imported') return error;
  const problems = rejected.slice(0, maxInRefusal).map(({ line, problem }) => `Line ${line}: ${problem}`);
  return new AppError(code, [message, ...problems].join(' '), { cause: error });
};
