import { stat } from 'node:fs/promises';
import type { Lead } from '../lead-source.ts';
import { LeadInputError, type FileLeadInput, type LeadInputOptions } from './input-options.ts';
import { fileProblem } from './raw-bytes.ts';
import { readFileRows } from './read-file-rows.ts';
import { checkRejected, defaultRejectedLimit } from './rejected-limit.ts';
import type { RowBatch } from './row-batch.ts';

const maxCountriesShown = 5;
/** More blank lines than rows. Compressed, such lines take no space. */
const maxBlank = 1_000_000;

/**
 * Opens profile files for an import: CSV, JSON Lines or Parquet; plain, gzip or zstd. Rows without a valid profile go
 * to `onRejected` and are left out. Memory use is constant. Rejects with LeadInputError if a file is missing or named
 * twice. Problems in the content appear while reading.
 */
export const openLeadInput = async (options: LeadInputOptions): Promise<FileLeadInput> => {
  const { files, maxRejected: limit = defaultRejectedLimit } = options;
  const twice = files.find((file, index) => files.indexOf(file) !== index);
  if (twice !== undefined) throw new LeadInputError(`${twice} is named twice.`);
  const inputs = await Promise.all(files.map(async (file) => ({ file, state: await stateOf(file) })));
  const totalBytes = inputs.reduce<number | null>(
    (sum, { state }) => (sum === null || state === null ? null : sum + state.bytes),
    0,
  );
  const countries: string[] = [];
  let blankLines = 0;
  const progress = {
    bytes: 0,
    totalBytes,
    rows: 0,
    rejected: 0,
    unknownCountries: { rows: 0, first: countries },
  };

  /** Reports an unreadable file, or wrong columns, before a row is given out. An input that can be read once is left out. */
  const lookAtFiles = async (signal: AbortSignal): Promise<void> => {
    for (const { file, state } of inputs) {
      if (state === null) continue;
      const rows = readFileRows({
        ...options,
        file,
        isRegularFile: true,
        signal,
        onBytes: () => undefined,
        onUnusedColumns: () => undefined,
      });
      await rows.next();
      await rows.return(undefined);
    }
  };

  const count = ({ leads, rejected, unknownCountries, blank }: RowBatch): void => {
    blankLines += blank;
    progress.rows += leads.length + rejected.length;
    if (blankLines > progress.rows + maxBlank)
      throw new LeadInputError('The input has over a million more blank lines than rows; remove them.');
    progress.rejected += rejected.length;
    progress.unknownCountries.rows += unknownCountries.length;
    for (const country of unknownCountries)
      if (countries.length < maxCountriesShown && !countries.includes(country)) countries.push(country);
  };

  async function* read({ signal }: { signal: AbortSignal }): AsyncGenerator<Lead[]> {
    await lookAtFiles(signal);
    let bytesBefore = 0;
    for (const { file, state } of inputs) {
      const batches = readFileRows({
        ...options,
        file,
        isRegularFile: state !== null,
        signal,
        onBytes: (bytes) => (progress.bytes = bytesBefore + bytes),
      });
      for await (const batch of batches) {
        count(batch);
        if (batch.rejected.length > 0) options.onRejected?.(batch.rejected.map((row) => ({ file, ...row })));
        checkRejected(progress, { limit, isEnd: false });
        yield batch.leads;
        signal.throwIfAborted();
      }
      if (state === null) continue;
      const now = await stateOf(file);
      if (now?.bytes !== state.bytes || now.changedMs !== state.changedMs)
        throw new LeadInputError(`${file} changed during the import; start again when nothing writes to it.`);
      bytesBefore += state.bytes;
      progress.bytes = bytesBefore;
    }
    checkRejected(progress, { limit, isEnd: true });
  }

  return { read, progress: () => structuredClone(progress) };
};

/** Null for an input that can be read only once. */
const stateOf = async (file: string): Promise<{ bytes: number; changedMs: number } | null> => {
  if (file === '-') return null;
  try {
    const stats = await stat(file);
    if (stats.isDirectory()) throw new LeadInputError(`${file} is a folder; name the files in it.`);
    return stats.isFile() ? { bytes: stats.size, changedMs: stats.mtimeMs } : null;
  } catch (error) {
    throw fileProblem(file, error);
  }
};
