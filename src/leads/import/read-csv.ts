import { readCsvHeader } from './csv-header.ts';
import { LeadInputError } from './lead-input-error.ts';
import { fieldsOf, mapColumns } from './map-columns.ts';
import { createBatchBuilder, type RowBatch, type RowOptions } from './row-batch.ts';
import { scanCsv, type CsvRow } from './scan-csv.ts';
import {
  joinBlocks,
  maxLineBytes,
  notUtf8Problem,
  textBlocks,
  tooLongProblem,
  type TextBlock,
} from './text-blocks.ts';

export interface CsvOptions extends RowOptions {
  delimiter?: string;
  hasHeader: boolean;
}

/** Limit for a row of several lines. Otherwise an unclosed quote would take the rest of the file. */
const maxRowCharacters = maxLineBytes;

/**
 * Reads the rows of a CSV file from its unpacked bytes. An invalid row (an unclosed quote, text after a closing quote,
 * another number of columns than the header) is rejected. Reading goes on with the line after the row's first line, so
 * a stray quote does not take later rows with it.
 */
export async function* readCsv(chunks: AsyncIterable<Buffer>, options: CsvOptions): AsyncGenerator<RowBatch> {
  let rows: CsvRows | null = null;
  let unread: TextBlock | null = null;
  for await (const block of textBlocks(chunks)) {
    if (rows !== null) {
      yield* rows.read(block);
      continue;
    }
    unread = unread === null ? block : joinBlocks({ block: unread, from: 0, line: unread.line }, block);
    const beginning = readBeginning(unread, options);
    if (beginning === null) continue;
    rows = createCsvRows(beginning, options);
    yield* rows.read(beginning.rest);
  }
  if (rows === null)
    throw new LeadInputError(
      unread === null || !unread.text.includes('"')
        ? `${options.file} is empty; it does not even have a header line.`
        : `${options.file} has an unclosed quote in its header.`,
    );
  yield* rows.end();
}

interface CsvBeginning {
  names: string[];
  delimiter: string;
  /** The lines after the header. */
  rest: TextBlock;
}

/** Returns null if the header continues in the next block. */
const readBeginning = (block: TextBlock, options: CsvOptions): CsvBeginning | null => {
  const { file } = options;
  if (block.isCut)
    throw new LeadInputError(`${file} is not CSV: its first line is longer than ${maxLineBytes} bytes.`);
  if (block.notUtf8?.has(block.line) === true)
    throw new LeadInputError(`${file}, line ${block.line}: ${notUtf8Problem}`);
  const header = readCsvHeader(block.text, options);
  if (header === null) {
    if (block.text.length > maxRowCharacters)
      throw new LeadInputError(`${file} has an unclosed quote in its header.`);
    return null;
  }
  const { names, delimiter, end, breaks } = header;
  return { names, delimiter, rest: { ...block, text: block.text.slice(end), line: block.line + breaks } };
};

type CsvRows = ReturnType<typeof createCsvRows>;

const createCsvRows = ({ names, delimiter }: CsvBeginning, options: CsvOptions) => {
  const { indexes, unused } = mapColumns(names, {
    ...options,
    ...(options.hasHeader
      ? { missingHint: ' If the first line is already a row, say that there is no header.' }
      : {}),
  });
  if (unused.length > 0) options.onUnusedColumns(unused);
  const batch = createBatchBuilder(options);
  // An empty cell may be an empty name or a missing one.
  const withoutName = { ...indexes, full_name: -1 };
  const cellIndexes = (cells: readonly string[]): typeof indexes =>
    cells[indexes.full_name]?.trim() === '' ? withoutName : indexes;
  /** A block whose last row, in line `line`, continues in the next block. */
  let open: { block: TextBlock; from: number; line: number } | null = null;

  function* rowsOf(block: TextBlock, isLast: boolean): Generator<RowBatch> {
    const { text, notUtf8 } = block;
    const scan = scanCsv(text, delimiter);
    let nextLine = block.line;
    let at = 0;
    while (at < text.length) {
      const start = at;
      const line = nextLine;
      const row = scan(start);
      if (row.state === 'open' && !isLast && text.length - start <= maxRowCharacters) {
        open = { block, from: start, line };
        break;
      }
      const problem = problemOf(row, names.length);
      if (row.state === 'row' && (problem === null || row.breaks === 1)) {
        at = Math.min(row.end, text.length);
        nextLine += row.breaks;
      } else {
        const next = text.indexOf('\n', start) + 1;
        at = next === 0 ? text.length : next;
        nextLine += 1;
      }
      const end = at;
      const show = (): string => text.slice(start, end).replace(/\r?\n$/, '');
      const isReadable = notUtf8 === null || !hasAny(notUtf8, line, nextLine);
      if (isReadable && problem !== null && row.state === 'row' && isBlank(row.cells)) continue;
      if (batch.skips()) continue;
      if (!isReadable) batch.reject(notUtf8Problem, line, show);
      else if (row.state === 'row' && problem === null)
        batch.add(fieldsOf(row.cells, cellIndexes(row.cells)), line, show);
      else batch.reject(problem ?? '', line, show);
      if (batch.isFull()) yield batch.take();
    }
    if (!batch.isEmpty()) yield batch.take();
  }

  function* endOpen(): Generator<RowBatch> {
    if (open === null) return;
    const { block, from, line } = open;
    open = null;
    yield* rowsOf({ ...block, text: block.text.slice(from), line }, true);
  }

  return {
    /** Yields the rows that end in `block`, the next block in order. */
    *read(block: TextBlock): Generator<RowBatch> {
      if (block.isCut) {
        yield* endOpen();
        if (!batch.skips()) batch.reject(tooLongProblem, block.line, () => block.text);
        return;
      }
      const whole = open === null ? block : joinBlocks(open, block);
      open = null;
      yield* rowsOf(whole, false);
    },
    /** Yields the rest when no block follows. */
    *end(): Generator<RowBatch> {
      yield* endOpen();
      if (!batch.isEmpty()) yield batch.take();
    },
  };
};

const problemOf = (row: CsvRow, columns: number): string | null => {
  switch (row.state) {
    case 'open':
      return `A quote in this row is not closed within ${maxRowCharacters} characters.`;
    case 'wrong':
      return 'Text follows a closing quote. Write a quote inside a quoted cell twice.';
    case 'row':
      return row.cells.length === columns
        ? null
        : `The row has ${row.cells.length} columns, the header has ${columns}.`;
  }
};

const isBlank = (cells: readonly string[]): boolean => cells.length === 1 && cells[0]?.trim() === '';

const hasAny = (lines: ReadonlySet<number>, from: number, end: number): boolean => {
  for (let line = from; line < end; line += 1) if (lines.has(line)) return true;
  return false;
};
