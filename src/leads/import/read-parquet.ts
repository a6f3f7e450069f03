import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import {
  asyncBufferFromFile,
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
  type AsyncBuffer,
  type Compressors,
  type FileMetaData,
  type SchemaTree,
} from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { follow } from '../../kit/json-pointer.ts';
import { LeadInputError } from './input-options.ts';
import { fieldsOf, mapColumns } from './map-columns.ts';
import { createBatchBuilder, type RowBatch, type RowOptions } from './row-batch.ts';

export interface ParquetOptions extends RowOptions {
  signal: AbortSignal;
  /** Called with the progress in bytes of the file. */
  onBytes: (bytes: number) => void;
}

const maxMetadataBytes = 64 * 1024 ** 2;
/** Limit for the used columns of one row group, which is held compressed and partly decompressed. */
const maxGroupBytes = 1024 ** 3;
/** A row group of up to twice this size is decompressed at once. The pages of a larger one are read once per slice. */
const sliceRows = 65_536;

/** Decompresses Parquet pages, with Node if possible, and never to more bytes than a page declares. */
const boundedCompressors: Compressors = {
  ...compressors,
  GZIP: (input, length) => gunzipSync(input, { maxOutputLength: Math.max(length, 1) }),
  BROTLI: (input, length) => brotliDecompressSync(input, { maxOutputLength: Math.max(length, 1) }),
  ZSTD: (input, length) => zstdDecompressSync(input, { maxOutputLength: Math.max(length, 1) }),
};

/**
 * Reads the rows of a Parquet file, one row group at a time and only the used columns. A column within a structure is
 * named by its path, `owner/username`.
 */
export async function* readParquet(options: ParquetOptions): AsyncGenerator<RowBatch> {
  const { file, signal } = options;
  try {
    yield* rowsOf(options);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LeadInputError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new LeadInputError(`${file} cannot be read as Parquet: ${why}`, { cause: error });
  }
}

async function* rowsOf(options: ParquetOptions): AsyncGenerator<RowBatch> {
  const { file, columns = {}, signal, onUnusedColumns, onBytes } = options;
  const buffer = await asyncBufferFromFile(file);
  const metadata = await readMetadata(buffer, file);
  const paths = leafPaths(parquetSchema(metadata));
  const { indexes, unused } = mapColumns(
    paths.map((path) => path.join('/')),
    {
      file,
      columns: Object.fromEntries(
        Object.entries(columns).map(([field, column]) => [field, column.replace(/^\//, '')]),
      ),
    },
  );
  if (unused.length > 0) onUnusedColumns(unused);
  const used = new Set(Object.values(indexes));
  const tops = [...new Set(paths.flatMap(([top = ''], column) => (used.has(column) ? [top] : [])))];

  const batch = createBatchBuilder(options);
  let bytes = 0;
  for (const slice of slicesOf(metadata, { file, tops })) {
    signal.throwIfAborted();
    onBytes((bytes += slice.bytes));
    const rows = await parquetReadObjects({
      file: buffer,
      metadata,
      columns: tops,
      rowStart: slice.start,
      rowEnd: slice.end,
      compressors: boundedCompressors,
    });
    if (rows.length !== slice.end - slice.start)
      throw new LeadInputError(`${file} is damaged: it has fewer rows than declared.`);
    for (const [index, row] of rows.entries()) {
      const cells = paths.map((path, column) => (used.has(column) ? follow(row, path) : undefined));
      batch.add(fieldsOf(cells, indexes), slice.start + index + 1, () => JSON.stringify(row, plain));
      if (batch.isFull()) yield batch.take();
    }
  }
  yield* batch.rest();
}

/** Rows of one row group that are decompressed together. */
interface ParquetSlice {
  start: number;
  end: number;
  bytes: number;
}

/**
 * Yields the rows of a file in slices. `tops` are the used columns. Throws LeadInputError for a row group that would
 * not fit in memory.
 */
export function* slicesOf(
  metadata: FileMetaData,
  { file, tops }: { file: string; tops: readonly string[] },
): Generator<ParquetSlice> {
  let groupStart = 0;
  for (const [index, group] of metadata.row_groups.entries()) {
    const rows = Number(group.num_rows);
    let packed = 0;
    let unpacked = 0;
    for (const { meta_data: column } of group.columns) {
      packed += Number(column?.total_compressed_size ?? 0);
      if (tops.includes(column?.path_in_schema[0] ?? ''))
        unpacked += Number(column?.total_uncompressed_size ?? 0);
    }
    if (unpacked > maxGroupBytes)
      throw new LeadInputError(
        `${file} has ${unpacked} bytes in row group ${index + 1}; ${maxGroupBytes} is the maximum. ` +
          'Write it again with smaller row groups, 100,000 rows each.',
      );
    const size = rows <= 2 * sliceRows ? rows : sliceRows;
    for (let start = 0; start < rows; start += size) {
      const end = Math.min(start + size, rows);
      const bytes = Math.round((packed * (end - start)) / rows);
      yield { start: groupStart + start, end: groupStart + end, bytes };
    }
    groupStart += rows;
  }
}

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

const plain = (_: string, value: unknown): unknown => {
  if (typeof value !== 'bigint') return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
};
