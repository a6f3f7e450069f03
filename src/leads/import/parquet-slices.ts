import type { FileMetaData } from 'hyparquet';
import { LeadInputError } from './lead-input-error.ts';

/** Limit for the used columns of one row group, which is held compressed and partly decompressed. */
const mostGroupBytes = 1024 ** 3;
/** A row group of up to twice this size is decompressed at once. The pages of a larger one are read once per slice. */
const sliceRows = 65_536;

/** Rows of one row group that are decompressed together. */
export interface ParquetSlice {
  start: number;
  end: number;
  /** Its share of the file, in bytes. */
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
    if (unpacked > mostGroupBytes)
      throw new LeadInputError(
        `${file} has ${unpacked} bytes in row group ${index + 1}; ${mostGroupBytes} is the maximum. ` +
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
