import {
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
  type AsyncBuffer,
  type FileMetaData,
  type SchemaTree,
} from 'hyparquet';
import type { LeadDefaults } from '../lead-fields.ts';
import type { ColumnMap } from './input-options.ts';
import { LeadInputError } from './lead-input-error.ts';
import { fieldsOf, mapColumns } from './map-columns.ts';
import { parquetCompressors } from './parquet-compressors.ts';
import { slicesOf } from './parquet-slices.ts';
import type { RawFile } from './open-raw-file.ts';
import { createBatchBuilder, type RowBatch } from './row-batch.ts';

/** A position between two rows: the number of rows before it. */
export interface ParquetPlace {
  row: number;
}

export interface ParquetOptions {
  file: string;
  columns?: ColumnMap;
  defaults?: LeadDefaults;
  signal: AbortSignal;
  onUnusedColumns: (columns: readonly string[]) => void;
  /** Called with the progress in bytes of the file. */
  onBytes: (bytes: number) => void;
}

const maxMetadataBytes = 64 * 1024 ** 2;
/**
 * Reads the rows of a Parquet file, one row group at a time and only the used columns. A column within a structure is
 * named by its path, `owner/username`.
 */
export async function* readParquet(
  raw: RawFile,
  after: ParquetPlace | null,
  options: ParquetOptions,
): AsyncGenerator<RowBatch<ParquetPlace>> {
  const { file, signal } = options;
  try {
    yield* rowsOf(raw, after?.row ?? 0, options);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LeadInputError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new LeadInputError(`${file} cannot be read as Parquet: ${why}`, { cause: error });
  }
}

async function* rowsOf(
  raw: RawFile,
  after: number,
  { file, columns, defaults, signal, onUnusedColumns, onBytes }: ParquetOptions,
): AsyncGenerator<RowBatch<ParquetPlace>> {
  const buffer = asyncBuffer(raw, signal);
  const metadata = await readMetadata(buffer, file);
  const paths = leafPaths(parquetSchema(metadata));
  const names = paths.map((path) => path.join('/'));
  const { indexes, unused } = mapColumns(names, { file, columns: withoutLeadingSlashes(columns) });
  if (unused.length > 0 && after === 0) onUnusedColumns(unused);
  const used = new Set(Object.values(indexes).filter((index) => index !== -1));
  const tops = [...new Set([...used].map((index) => paths[index]?.[0] ?? ''))];

  const batch = createBatchBuilder<ParquetPlace>({ row: after }, defaults);
  for (const slice of slicesOf(metadata, { file, tops })) {
    signal.throwIfAborted();
    onBytes(slice.bytes);
    if (slice.end <= after) continue;
    const start = Math.max(slice.start, after);
    const rows = await parquetReadObjects({
      file: buffer,
      metadata,
      columns: tops,
      rowStart: start,
      rowEnd: slice.end,
      compressors: parquetCompressors,
    });
    if (rows.length !== slice.end - start)
      throw new LeadInputError(`${file} is damaged: it has fewer rows than declared.`);
    for (const [index, row] of rows.entries()) {
      const cells = paths.map((path, column) => (used.has(column) ? cellOf(row, path) : undefined));
      const line = start + index + 1;
      batch.add(fieldsOf(cells, indexes), line, () =>
        JSON.stringify(row, (_, value: unknown) => plain(value)),
      );
      if (batch.isFull()) yield batch.take({ row: line });
    }
    if (!batch.isEmpty()) yield batch.take({ row: slice.end });
  }
}

const asyncBuffer = (raw: RawFile, signal: AbortSignal): AsyncBuffer => {
  const byteLength = raw.size ?? 0;
  return {
    byteLength,
    async slice(start, end = byteLength) {
      signal.throwIfAborted();
      return (await raw.slice(start, end - start)).buffer;
    },
  };
};

const readMetadata = async (buffer: AsyncBuffer, file: string): Promise<FileMetaData> => {
  if (buffer.byteLength < 12) throw new LeadInputError(`${file} is too short to be a Parquet file.`);
  const tail = new DataView(await buffer.slice(buffer.byteLength - 8));
  const length = tail.getUint32(0, true);
  if (tail.getUint32(4, false) !== 0x50415231 || length > buffer.byteLength - 12)
    throw new LeadInputError(
      `${file} does not end like a Parquet file; it may be cut off. Get the complete file again.`,
    );
  if (length > maxMetadataBytes)
    throw new LeadInputError(`${file} has ${length} bytes of metadata; ${maxMetadataBytes} is the maximum.`);
  return parquetMetadataAsync(buffer, { geoparquet: false });
};

/** Returns the path of each column with one value per row. Lists and maps have none. */
const leafPaths = (tree: SchemaTree): string[][] =>
  tree.children.flatMap((child) => {
    if (child.element.repetition_type === 'REPEATED') return [];
    return child.children.length === 0 ? [child.path] : leafPaths(child);
  });

const withoutLeadingSlashes = (columns: ColumnMap = {}): ColumnMap =>
  Object.fromEntries(Object.entries(columns).map(([field, column]) => [field, column.replace(/^\//, '')]));

const cellOf = (row: Record<string, unknown>, path: readonly string[]): unknown => {
  let value: unknown = row;
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
};

const plain = (value: unknown): unknown => {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  return value;
};
