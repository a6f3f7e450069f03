import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../../kit/ids.ts';
import { canonicalJson, type Json } from '../../kit/json.ts';
import type { LeadBatch } from '../lead-keeper.ts';
import { leadFields } from '../lead-fields.ts';
import type { FileLeadInput, InputProgress, LeadInputOptions } from './input-options.ts';
import { LeadInputError } from './lead-input-error.ts';
import { fileProblem } from './open-raw-file.ts';
import { readFileRows } from './read-file-rows.ts';
import { rowsOfMapping } from './read-jsonl.ts';

/** Increase when the same files could give other rows than before. */
const readerVersion = 5;

/**
 * Opens profile files for an import: CSV, JSON Lines or Parquet; plain, gzip or zstd. Rows without a valid profile go
 * to `onRejected` and are left out. Memory use is constant. Rejects with LeadInputError if the options are invalid or a
 * file is missing. Problems in the content appear while reading.
 */
export const openLeadInput = async (options: LeadInputOptions): Promise<FileLeadInput> => {
  checkOptions(options);
  const { files, format, columns, defaults, delimiter, hasHeader } = options;
  const meaning = { format, columns, defaults, delimiter, hasHeader };
  const stats = await Promise.all(files.map(describeFile));
  const sizes = stats.map(({ size }) => size);
  const totalBytes = sizes.reduce<number | null>(
    (sum, size) => (sum === null || size === null ? null : sum + size),
    0,
  );
  const progress: InputProgress = { bytes: 0, totalBytes, rows: 0, rejected: 0 };

  /** Reports an unreadable file, or wrong columns, before a row is given out. An input that can be read once is left out. */
  const lookAtFiles = async (signal: AbortSignal): Promise<void> => {
    for (const file of files.filter((_, index) => sizes[index] !== null)) {
      const batches = readFileRows({
        ...options,
        file,
        skip: 0,
        signal,
        onBytes: () => undefined,
        onUnusedColumns: () => undefined,
      });
      let rows = 0;
      for await (const { leads, rejected } of batches) {
        rows += leads.length + rejected.length;
        if (rows >= rowsOfMapping) break;
      }
    }
  };

  async function* read({ after, signal }: Parameters<FileLeadInput['read']>[0]): AsyncGenerator<LeadBatch> {
    const start = after === null ? beginning : readPosition(after);
    let { rows, rejected } = start;
    Object.assign(progress, { bytes: 0, rows, rejected });
    let bytesBefore = 0;
    if (after === null) await lookAtFiles(signal);
    for (const [index, file] of files.entries()) {
      if (index >= start.file) {
        let rowsOfFile = index === start.file ? start.rowsOfFile : 0;
        const batches = readFileRows({
          ...options,
          file,
          skip: rowsOfFile,
          signal,
          onBytes: (bytes) => (progress.bytes = bytesBefore + bytes),
        });
        for await (const batch of batches) {
          for (const row of batch.rejected) await options.onRejected?.({ file, ...row });
          const read = batch.leads.length + batch.rejected.length;
          rows += read;
          rowsOfFile += read;
          rejected += batch.rejected.length;
          Object.assign(progress, { rows, rejected });
          yield { leads: batch.leads, position: { file: index, rowsOfFile, rows, rejected } };
          signal.throwIfAborted();
        }
      }
      bytesBefore += sizes[index] ?? 0;
      progress.bytes = Math.max(progress.bytes, bytesBefore);
    }
  }

  return {
    key: totalBytes === null ? null : sha256(canonicalJson({ version: readerVersion, stats, ...meaning })),
    read,
    resumeEnd: (position) => {
      const { rows, rejected } = readPosition(position);
      Object.assign(progress, { bytes: totalBytes ?? 0, rows, rejected });
    },
    progress: () => ({ ...progress }),
  };
};

const count = z.int().min(0);

/** A position between two rows of an input, as in a batch's `position`. */
const positionSchema = z.object({
  file: count,
  /** Rows read of this file so far. */
  rowsOfFile: count,
  /** Rows read of all files so far, and the number of rejected ones. */
  rows: count,
  rejected: count,
});

const beginning = { file: 0, rowsOfFile: 0, rows: 0, rejected: 0 };

const readPosition = (position: Json): z.infer<typeof positionSchema> => {
  const read = positionSchema.safeParse(position);
  if (read.success) return read.data;
  throw new LeadInputError('The place where the import stopped cannot be understood; begin it again.');
};

/** `size` is null for an input that can be read only once. */
const describeFile = async (
  file: string,
): Promise<{ path: string; size: number | null; changedMs: number | null }> => {
  if (file === '-') return { path: '-', size: null, changedMs: null };
  try {
    const stats = await stat(file);
    if (stats.isDirectory()) throw new LeadInputError(`${file} is a folder; name the files in it.`);
    const path = resolve(file);
    return stats.isFile()
      ? { path, size: stats.size, changedMs: stats.mtimeMs }
      : { path, size: null, changedMs: null };
  } catch (error) {
    throw fileProblem(file, error);
  }
};

const checkOptions = ({ files, columns = {}, delimiter }: LeadInputOptions): void => {
  if (files.length === 0) throw new LeadInputError('No file is given; - is standard input.');
  const twice = files.find((file, index) => files.indexOf(file) !== index);
  if (twice !== undefined) throw new LeadInputError(`${twice} is named twice.`);
  if (delimiter !== undefined && !/^[^"\r\n\uD800-\uDFFF]$/.test(delimiter))
    throw new LeadInputError('The delimiter must be one character, and not a quote or a line break.');
  const known: readonly string[] = leadFields;
  const unknown = Object.keys(columns).find((field) => !known.includes(field));
  if (unknown !== undefined)
    throw new LeadInputError(`Unknown field ${unknown}. The fields are: ${known.join(', ')}.`);
};
