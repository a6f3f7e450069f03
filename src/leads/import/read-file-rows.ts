import { peekStream } from '../../kit/streams.ts';
import { compressionOf, decompress } from './decompress.ts';
import { checkReadable, formatOfName, formatOfText, isParquet } from './file-format.ts';
import type { LeadInputOptions } from './input-options.ts';
import { LeadInputError } from './lead-input-error.ts';
import { rawBytes } from './raw-bytes.ts';
import { readCsv } from './read-csv.ts';
import { readJsonl } from './read-jsonl.ts';
import type { RowBatch } from './row-batch.ts';

export interface FileRowsOptions extends LeadInputOptions {
  file: string;
  /** False for an input that can be read only once, from its beginning. */
  isRegularFile: boolean;
  signal: AbortSignal;
  /** Called with the number of stored bytes read so far. */
  onBytes: (bytes: number) => void;
}

/** Enough for each magic number, and for zeros in UTF-16. */
const lookedAtBytes = 64;

/** Reads the rows of one file of any format and compression. Rejects with LeadInputError. */
export async function* readFileRows(options: FileRowsOptions): AsyncGenerator<RowBatch> {
  const { isRegularFile, signal, onBytes } = options;
  const file = options.file === '-' ? 'The input' : options.file;
  const rowOptions = {
    ...options,
    file,
    onUnusedColumns: (unused: readonly string[]) =>
      options.onUnusedColumns?.({ file, columns: unused.slice(0, 50) }),
  };
  let bytes = 0;
  const stored = rawBytes(file, {
    stdin: options.file === '-' ? (options.stdin ?? process.stdin) : null,
    signal,
    onBytes: (more) => onBytes((bytes += more)),
  });
  const raw = await peekStream(stored, lookedAtBytes);
  try {
    const compression = compressionOf(raw.head);
    const named =
      options.format ?? (compression === null && isParquet(raw.head) ? 'parquet' : formatOfName(file));
    if (named === 'parquet') {
      if (compression !== null)
        throw new LeadInputError(
          `${file} is a Parquet file compressed with ${compression}; decompress it first.`,
        );
      if (!isRegularFile)
        throw new LeadInputError(`${file} is Parquet, which cannot be read from a stream; use a file.`);
      if (!isParquet(raw.head)) throw new LeadInputError(`${file} is not a Parquet file.`);
      await raw.close();
      const { readParquet } = await import('./read-parquet.ts');
      return yield* readParquet(rowOptions);
    }
    const unpacked = compression === null ? raw.body : decompress(raw.body, { file, compression, signal });
    const { head, body } = await peekStream(unpacked, lookedAtBytes);
    checkReadable(file, head);
    if (isParquet(head))
      throw new LeadInputError(
        compression === null
          ? `${file} is Parquet; omit the format, or name that one.`
          : `${file} is a compressed Parquet file; decompress it first.`,
      );
    const found = named === 'csv' ? 'csv' : formatOfText(file, head);
    yield* (named ?? found) === 'csv' ? readCsv(body, rowOptions) : readJsonl(body, rowOptions);
  } finally {
    await raw.close();
  }
}
