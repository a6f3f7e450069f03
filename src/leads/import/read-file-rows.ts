import { peekStream } from '../../kit/peek-stream.ts';
import { compressionOf, decompress } from './decompress.ts';
import { checkReadable, formatOfName, formatOfText, isParquet } from './file-format.ts';
import type { InputFormat, LeadInputOptions } from './input-options.ts';
import { LeadInputError } from './lead-input-error.ts';
import { openRawFile, rawStream, type RawFile } from './open-raw-file.ts';
import { readCsv } from './read-csv.ts';
import { readJsonl } from './read-jsonl.ts';
import type { RowBatch } from './row-batch.ts';

export interface FileRowsOptions extends LeadInputOptions {
  file: string;
  /** The number of rows that an earlier import has read: they are left out. */
  skip: number;
  signal: AbortSignal;
  /** Called with the number of stored bytes read so far. */
  onBytes: (bytes: number) => void;
}

/** Reads the rows of one file of any format and compression. Rejects with LeadInputError. */
export async function* readFileRows(options: FileRowsOptions): AsyncGenerator<RowBatch> {
  const { signal } = options;
  const isStdin = options.file === '-';
  const file = isStdin ? 'The input' : options.file;
  let bytes = 0;
  const onBytes = (more: number): void => {
    bytes += more;
    options.onBytes(bytes);
  };
  const raw = isStdin
    ? await rawStream(options.stdin ?? process.stdin, { file, signal, onBytes })
    : await openRawFile({ file, signal, onBytes });
  try {
    yield* rowsOf(raw, { ...options, file, onBytes });
    await raw.checkUnchanged();
  } finally {
    await raw.close();
  }
}

async function* rowsOf(raw: RawFile, options: FileRowsOptions): AsyncGenerator<RowBatch> {
  const { file, signal, hasHeader = true } = options;
  const compression = compressionOf(raw.head);
  const named =
    options.format ?? (compression === null && isParquet(raw.head) ? 'parquet' : formatOfName(file));
  const rowOptions = {
    ...options,
    hasHeader,
    onUnusedColumns: (unused: readonly string[]) =>
      options.onUnusedColumns?.({ file, columns: unused.slice(0, 50) }),
  };
  if (named === 'parquet') {
    checkParquet(raw, { file, compression });
    const { readParquet } = await import('./read-parquet.ts');
    return yield* readParquet(raw, rowOptions);
  }
  const unpacked =
    compression === null ? raw.chunks() : decompress(raw.chunks(), { file, compression, signal });
  const { format, chunks } = await lookAtText(unpacked, {
    file,
    format: named,
    isPacked: compression !== null,
  });
  return yield* format === 'csv' ? readCsv(chunks, rowOptions) : readJsonl(chunks, rowOptions);
}

const checkParquet = (
  raw: RawFile,
  { file, compression }: { file: string; compression: string | null },
): void => {
  if (compression !== null)
    throw new LeadInputError(
      `${file} is a Parquet file compressed with ${compression}; decompress it first.`,
    );
  if (raw.size === null)
    throw new LeadInputError(`${file} is Parquet, which cannot be read from a stream; use a file.`);
  if (!isParquet(raw.head)) throw new LeadInputError(`${file} is not a Parquet file.`);
};

const lookedAtBytes = 64;

/** Detects the format from the beginning of the unpacked text, which can be opened only once from its beginning. */
const lookAtText = async (
  chunks: AsyncIterable<Buffer>,
  {
    file,
    format,
    isPacked,
  }: { file: string; format: Exclude<InputFormat, 'parquet'> | null; isPacked: boolean },
): Promise<{ format: 'csv' | 'jsonl'; chunks: AsyncIterable<Buffer> }> => {
  const { head, body, close } = await peekStream(chunks, lookedAtBytes);
  try {
    checkReadable(file, head);
    if (isParquet(head))
      throw new LeadInputError(
        isPacked
          ? `${file} is a compressed Parquet file; decompress it first.`
          : `${file} is Parquet; omit the format, or name that one.`,
      );
    const found = format === 'csv' ? 'csv' : formatOfText(file, head.subarray(0, 4096));
    return { format: format ?? found, chunks: body };
  } catch (error) {
    await close();
    throw error;
  }
};
