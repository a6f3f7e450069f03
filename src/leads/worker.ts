import { Readable } from 'node:stream';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../kit/clock.ts';
import { AppError, toAppError } from '../kit/errors.ts';
import type { LeadIndex } from './lead-index.ts';
import type { RejectedRow } from './import/input-options.ts';
import { openLeadInput } from './import/open-lead-input.ts';
import { fileProblem } from './import/raw-bytes.ts';
import type { ImportedStream, TaskAnswer, TaskOrder, LeadTask, StreamImport } from './lead-tasks.ts';
import { openLeadIndex } from './open-lead-index.ts';

const maxFirstRejected = 20;
/** A refusal has no more of them. */
const maxInRefusal = 3;

/** Imports a stream that can be read once, such as the body of a request. A stream that breaks off changes nothing. */
const importStream = async (
  index: LeadIndex,
  { mode, ...options }: StreamImport,
  stdin: Readable,
): Promise<ImportedStream> => {
  const broken = new AbortController();
  stdin.once('error', (cause) => broken.abort(fileProblem('The input', cause)));
  const firstRejected: RejectedRow[] = [];
  const input = await openLeadInput({
    ...options,
    files: ['-'],
    stdin,
    onRejected: (rows) => firstRejected.push(...rows.slice(0, maxFirstRejected - firstRejected.length)),
  });
  try {
    const startedAt = systemClock.now();
    const outcome = await index.importLeads({ input, mode, signal: broken.signal });
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

const perform = (index: LeadIndex, task: LeadTask): Promise<unknown> =>
  task.kind === 'import'
    ? importStream(index, task.options, Readable.fromWeb(task.body))
    : index[task.kind](task.usernames, new AbortController());

const answer = async ({ settings, task }: TaskOrder): Promise<TaskAnswer> => {
  try {
    const index = await openLeadIndex(settings);
    try {
      return { output: await perform(index, task) };
    } finally {
      await index.close();
    }
  } catch (error) {
    const known = toAppError(error);
    // A fault is reported with its cause, for the log.
    if (known.code === 'server_error') throw error;
    return { error: { code: known.code, message: known.message } };
  }
};

/* Does one task on the profiles, which may block this thread for long, and ends. */
parentPort?.postMessage(await answer(workerData as TaskOrder));
