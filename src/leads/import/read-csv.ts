import { readCsvHeader } from './csv-header.ts';
import type { LeadDefaults } from '../lead-fields.ts';
import type { ColumnMap } from './input-options.ts';
import { LeadInputError } from './lead-input-error.ts';
import { fieldsOf, mapColumns } from './map-columns.ts';
import { createBatchBuilder, type RowBatch } from './row-batch.ts';
import { scanCsv, type CsvRow } from './scan-csv.ts';
import {
  countBytes,
  joinBlocks,
  longestLine,
  notUtf8Problem,
  textBlocks,
  tooLongProblem,
  type TextBlock,
  type TextPlace,
} from './text-blocks.ts';

/** A position between two rows, with the header's data. */
export interface CsvPlace extends TextPlace {
  names: string[];
  delimiter: string;
}

export interface CsvOptions {
  file: string;
  columns?: ColumnMap;
  defaults?: LeadDefaults;
  delimiter?: string;
  hasHeader: boolean;
  onUnusedColumns: (columns: readonly string[]) => void;
}

/** Limit in characters for a row of several lines. Otherwise an unclosed quote would take the rest of the file. */
const longestRow = longestLine;

/**
 * Reads the rows of a CSV file. `openAt` gives its unpacked bytes from a position on. An invalid row (an unclosed
 * quote, text after a closing quote, another number of columns than the header) is rejected. Reading goes on with the
 * line after the row's first line, so a stray quote does not take later rows with it.
 */
export async function* readCsv(
  openAt: (byte: number) => AsyncIterable<Buffer>,
  after: CsvPlace | null,
  options: CsvOptions,
): AsyncGenerator<RowBatch<CsvPlace>> {
  let rows = after === null ? null : createCsvRows(after, options);
  let unread: TextBlock | null = null;
  for await (const block of textBlocks(openAt(after?.byte ?? 0), after ?? { byte: 0, line: 1 })) {
    if (rows !== null) {
      yield* rows.read(block);
      continue;
    }
    unread = unread === null ? block : joinBlocks({ block: unread, from: 0, start: unread.start }, block);
    const beginning = readBeginning(unread, options);
    if (beginning === null) continue;
    rows = createCsvRows(beginning.place, options);
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

const readBeginning = (
  block: TextBlock,
  options: CsvOptions,
): { place: CsvPlace; rest: TextBlock } | null => {
  const { file } = options;
  if (block.isCut)
    throw new LeadInputError(`${file} is not CSV: its first line is longer than ${longestLine} bytes.`);
  if (block.notUtf8?.has(block.start.line) === true)
    throw new LeadInputError(`${file}, line ${block.start.line}: ${notUtf8Problem}`);
  const header = readCsvHeader(block.text, options);
  if (header === null) {
    if (block.text.length > longestRow)
      throw new LeadInputError(`${file} has an unclosed quote in its header.`);
    return null;
  }
  const { names, delimiter, end, breaks } = header;
  const start = { byte: countBytes(block)(end), line: block.start.line + breaks };
  return { place: { ...start, names, delimiter }, rest: { ...block, text: block.text.slice(end), start } };
};

interface CsvRows {
  /** Yields the rows that end in `block`, the next block in order. */
  read(block: TextBlock): Generator<RowBatch<CsvPlace>>;
  /** Yields the rest when no block follows. */
  end(): Generator<RowBatch<CsvPlace>>;
}

const createCsvRows = (
  begin: CsvPlace,
  { file, columns, defaults, hasHeader, onUnusedColumns }: CsvOptions,
): CsvRows => {
  const { names, delimiter } = begin;
  const { indexes, unused } = mapColumns(names, {
    file,
    columns,
    ...(hasHeader ? { missingHint: ' If the first line is already a row, add --no-header.' } : {}),
  });
  if (unused.length > 0) onUnusedColumns(unused);
  const batch = createBatchBuilder<CsvPlace>(begin, defaults);
  // An empty cell may be an empty name or a missing one.
  const withoutName = { ...indexes, full_name: -1 };
  const cellIndexes = (cells: readonly string[]): typeof indexes =>
    cells[indexes.full_name]?.trim() === '' ? withoutName : indexes;
  /** A block whose last row continues in the next block. */
  let open: { block: TextBlock; from: number; start: TextPlace } | null = null;

  const problemOf = (row: CsvRow): string | null => {
    switch (row.state) {
      case 'open':
        return `A quote in this row is not closed within ${longestRow} characters.`;
      case 'wrong':
        return 'Text follows a closing quote. Write a quote inside a quoted cell twice.';
      case 'row':
        return row.cells.length === names.length
          ? null
          : `The row has ${row.cells.length} columns, the header has ${names.length}.`;
    }
  };

  function* rowsOf(block: TextBlock, isLast: boolean): Generator<RowBatch<CsvPlace>> {
    const { text, notUtf8 } = block;
    const scan = scanCsv(text, delimiter);
    const byteAt = countBytes(block);
    let { line } = block.start;
    let at = 0;
    while (at < text.length) {
      const start = at;
      const startLine = line;
      const row = scan(start);
      if (row.state === 'open' && !isLast && text.length - start <= longestRow) {
        open = { block, from: start, start: { byte: byteAt(start), line } };
        return;
      }
      const problem = problemOf(row);
      if (row.state === 'row' && (problem === null || row.breaks === 1)) {
        at = Math.min(row.end, text.length);
        line += row.breaks;
      } else {
        const next = text.indexOf('\n', start) + 1;
        at = next === 0 ? text.length : next;
        line += 1;
      }
      const shown = (): string => text.slice(start, at).replace(/\r?\n$/, '');
      if (notUtf8 !== null && hasAny(notUtf8, startLine, line))
        batch.reject(notUtf8Problem, startLine, shown);
      else if (row.state === 'row' && problem === null)
        batch.add(fieldsOf(row.cells, cellIndexes(row.cells)), startLine, shown);
      else if (row.state !== 'row' || !isBlank(row.cells)) batch.reject(problem ?? '', startLine, shown);
      if (batch.isFull()) yield batch.take({ byte: byteAt(at), line, names, delimiter });
    }
    if (batch.isFullAt(block.end.byte)) yield batch.take({ ...block.end, names, delimiter });
  }

  function* endOpen(): Generator<RowBatch<CsvPlace>> {
    if (open === null) return;
    const { block, from, start } = open;
    open = null;
    yield* rowsOf({ ...block, text: block.text.slice(from), start }, true);
  }

  let { byte, line }: TextPlace = begin;
  return {
    *read(block) {
      ({ byte, line } = block.end);
      if (block.isCut) {
        yield* endOpen();
        batch.reject(tooLongProblem, block.start.line, () => block.text);
        return;
      }
      const whole = open === null ? block : joinBlocks(open, block);
      open = null;
      yield* rowsOf(whole, false);
    },
    *end() {
      yield* endOpen();
      if (!batch.isEmpty()) yield batch.take({ byte, line, names, delimiter });
    },
  };
};

const isBlank = (cells: readonly string[]): boolean => cells.length === 1 && cells[0]?.trim() === '';

const hasAny = (lines: ReadonlySet<number>, from: number, end: number): boolean => {
  for (let line = from; line < end; line += 1) if (lines.has(line)) return true;
  return false;
};
