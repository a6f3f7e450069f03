import { compressionOf, decompress } from './decompress.ts';
import { checkReadable, formatOfName, formatOfText, isParquet } from './file-format.ts';
import type { InputFormat, LeadInputOptions } from './input-options.ts';
import type { FilePlace } from './input-position.ts';
import { LeadInputError } from './lead-input-error.ts';
import { openRawFile, rawStream, type RawFile } from './open-raw-file.ts';
import { readCsv } from './read-csv.ts';
import { readJsonl } from './read-jsonl.ts';
import type { RowBatch } from './row-batch.ts';

export interface FileRowsOptions extends LeadInputOptions {
  file: string;
  /** Null to begin at the start. */
  after: FilePlace | null;
  signal: AbortSignal;
  /** Called with the number of stored bytes read so far. */
  onBytes: (bytes: number) => void;
}

/** Reads the rows of one file of any format and compression. Rejects with LeadInputError. */
export async function* readFileRows(options: FileRowsOptions): AsyncGenerator<RowBatch<FilePlace>> {
  const { file, signal } = options;
  let bytes = 0;
  const onBytes = (more: number): void => {
    bytes += more;
    options.onBytes(bytes);
  };
  const raw =
    file === '-'
      ? await rawStream(options.stdin ?? process.stdin, { file, signal, onBytes })
      : await openRawFile({ file, signal, onBytes });
  try {
    yield* rowsOf(raw, { ...options, onBytes });
    await raw.checkUnchanged();
  } finally {
    await raw.close();
  }
}

async function* rowsOf(raw: RawFile, options: FileRowsOptions): AsyncGenerator<RowBatch<FilePlace>> {
  const { file, after, signal, columns, defaults, delimiter, hasHeader = true, onBytes } = options;
  const onUnusedColumns = (unused: readonly string[]): void =>
    options.onUnusedColumns?.({ file, columns: unused.slice(0, 50) });
  const compression = compressionOf(raw.head);
  const named =
    options.format ?? (compression === null && isParquet(raw.head) ? 'parquet' : formatOfName(file));
  if (named === 'parquet' || after?.format === 'parquet') {
    checkParquet(raw, { file, compression });
    const { readParquet } = await import('./read-parquet.ts');
    const place = after?.format === 'parquet' ? after : null;
    for await (const batch of readParquet(raw, place, {
      file,
      columns,
      defaults,
      signal,
      onUnusedColumns,
      onBytes,
    }))
      yield { ...batch, next: { format: 'parquet', ...batch.next } };
    return;
  }
  const unpacked = (from: number): AsyncIterable<Buffer> =>
    compression === null
      ? raw.chunks(from)
      : skipBytes(decompress(raw.chunks(0), { file, compression, signal }), from);
  if (after !== null && compression === null) onBytes(after.byte);
  // A resumed file was checked at its beginning before.
  const text =
    after === null
      ? await lookAtText(unpacked(0), { file, format: named, isPacked: compression !== null })
      : { format: after.format, openAt: unpacked };
  switch (text.format) {
    case 'csv': {
      const place = after?.format === 'csv' ? after : null;
      for await (const batch of readCsv(text.openAt, place, {
        file,
        columns,
        defaults,
        delimiter,
        hasHeader,
        onUnusedColumns,
      }))
        yield { ...batch, next: { format: 'csv', ...batch.next } };
      return;
    }
    case 'jsonl':
      for await (const batch of readJsonl(text.openAt, after, { file, columns, defaults, onUnusedColumns }))
        yield { ...batch, next: { format: 'jsonl', ...batch.next } };
  }
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
    throw new LeadInputError(
      `${file} is Parquet, which cannot be read from standard input or a pipe; use a file.`,
    );
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
): Promise<{ format: 'csv' | 'jsonl'; openAt: () => AsyncIterable<Buffer> }> => {
  const iterator = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  try {
    while (head.length < lookedAtBytes) {
      const next = await iterator.next();
      if (next.done === true) break;
      head = head.length === 0 ? next.value : Buffer.concat([head, next.value]);
    }
    checkReadable(file, head);
    if (isParquet(head))
      throw new LeadInputError(
        isPacked
          ? `${file} is a compressed Parquet file; decompress it first.`
          : `${file} is Parquet; omit --format, or use --format parquet.`,
      );
    const found = format === 'csv' ? 'csv' : formatOfText(file, head.subarray(0, 4096));
    return { format: format ?? found, openAt: () => withHead(head, iterator) };
  } catch (error) {
    await iterator.return?.();
    throw error;
  }
};

async function* withHead(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

async function* skipBytes(chunks: AsyncIterable<Buffer>, count: number): AsyncGenerator<Buffer> {
  let left = count;
  for await (const chunk of chunks) {
    if (left < chunk.length) yield chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
  }
}
