import { peekStream } from '../../kit/streams.ts';
import { compressionOf, decompress } from './decompress.ts';
import { LeadInputError, type InputFormat, type LeadInputOptions } from './input-options.ts';
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

/** Enough for each magic number, and for zeros in UTF-16. Later in the file a NUL may be part of a valid text. */
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
    if (isParquet(head))
      throw new LeadInputError(
        compression === null
          ? `${file} is Parquet; omit the format, or name that one.`
          : `${file} is a compressed Parquet file; decompress it first.`,
      );
    checkReadable(file, head);
    const found = named === 'csv' ? 'csv' : formatOfText(file, head);
    yield* (named ?? found) === 'csv' ? readCsv(body, rowOptions) : readJsonl(body, rowOptions);
  } finally {
    await raw.close();
  }
}

const formatOfName = (file: string): InputFormat | null => {
  const name = file.toLowerCase().replace(/\.(?:gz|gzip|zst|zstd)$/, '');
  if (/\.(?:csv|tsv)$/.test(name)) return 'csv';
  if (/\.(?:jsonl|ndjson)$/.test(name)) return 'jsonl';
  return /\.(?:parquet|pq)$/.test(name) ? 'parquet' : null;
};

const isParquet = (head: Buffer): boolean => head.subarray(0, 4).toString('latin1') === 'PAR1';

const unreadable: readonly (readonly [magic: string, what: string])[] = [
  ['504b0304', 'is a ZIP archive or an Excel workbook; unpack it, or save the sheet as CSV (UTF-8)'],
  ['d0cf11e0', 'is an old Excel workbook; save the sheet as CSV (UTF-8)'],
  ['425a68', 'is compressed with bzip2; decompress it first: bunzip2'],
  ['fd377a585a00', 'is compressed with xz; decompress it first: unxz'],
  ['04224d18', 'is compressed with LZ4; decompress it first: unlz4'],
  ['fffe', 'is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8 OLD > NEW'],
  ['feff', 'is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8 OLD > NEW'],
  ['4f626a01', 'is an Avro file; convert it to Parquet or JSON Lines'],
  ['4f5243', 'is an ORC file; convert it to Parquet or JSON Lines'],
  ['4152524f5731', 'is an Arrow file; convert it to Parquet or JSON Lines'],
];

/** Throws LeadInputError if the first unpacked bytes belong to an unsupported kind of file. */
const checkReadable = (file: string, head: Buffer): void => {
  const hex = head.subarray(0, 16).toString('hex');
  const found = unreadable.find(([magic]) => hex.startsWith(magic));
  if (found !== undefined) throw new LeadInputError(`${file} ${found[1]}.`);
  const problem = problemOfZeros(head.subarray(0, lookedAtBytes));
  if (problem !== null) throw new LeadInputError(`${file} ${problem}`);
};

/** Explains zeros among the first bytes of a text. In UTF-16 all are in the same half of each two bytes. */
const problemOfZeros = (head: Buffer): string | null => {
  const zeros = [...head.keys()].filter((index) => head[index] === 0);
  const [first, second] = zeros;
  if (first === undefined) return null;
  if (second === undefined)
    return `has a NUL character (byte ${first + 1}) and is not plain text; remove it first: tr -d '\\000' < OLD > NEW`;
  if (zeros.every((index) => index % 2 === first % 2))
    return `is not UTF-8 and looks like UTF-16. Convert it first: iconv -f UTF-16${first % 2 === 0 ? 'BE' : 'LE'} -t UTF-8 OLD > NEW`;
  return 'is not a text file.';
};

/** Returns the format by the first bytes of a text. Throws LeadInputError for a JSON array. */
const formatOfText = (file: string, head: Buffer): 'csv' | 'jsonl' => {
  const begin = head.toString('latin1').replace(/^(?:\u00EF\u00BB\u00BF)?\s*/, '')[0];
  if (begin === '[')
    throw new LeadInputError(
      `${file} is a JSON array; convert it to JSON Lines, one object per line: jq -c '.[]' OLD > NEW`,
    );
  return begin === '{' ? 'jsonl' : 'csv';
};
