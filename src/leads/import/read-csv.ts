import { LeadInputError } from './input-options.ts';
import { fieldsOf, mapColumns } from './map-columns.ts';
import { createBatchBuilder, type RowBatch, type RowOptions } from './row-batch.ts';
import { maxLineBytes, notUtf8Mark, notUtf8Problem, textBlocks, tooLongProblem } from './text-blocks.ts';

/** Limit for a row of several lines. Otherwise an unclosed quote would take the rest of the file. */
const maxRowCharacters = maxLineBytes;
/** A row of lines that are reread is read up to one cell more. */
const maxColumns = 10_000;

/**
 * Reads the rows of a CSV file from its unpacked bytes. An invalid row (an unclosed quote, text after a closing quote,
 * another number of columns than the header) is rejected. Reading goes on with the line after the row's first line, so
 * a stray quote does not take later rows with it.
 */
export async function* readCsv(chunks: AsyncIterable<Buffer>, options: RowOptions): AsyncGenerator<RowBatch> {
  const { file } = options;
  let rows: ReturnType<typeof createCsvRows> | null = null;
  let unread = '';
  for await (const { text, isCut } of textBlocks(chunks)) {
    if (rows !== null) {
      yield* isCut ? rows.skipLine(text) : rows.read(text);
      continue;
    }
    if (isCut)
      throw new LeadInputError(`${file} is not CSV: its first line is longer than ${maxLineBytes} bytes.`);
    unread += text;
    const header = readCsvHeader(unread, options);
    if (header === null && unread.length > maxRowCharacters) break;
    if (header === null) continue;
    rows = createCsvRows(header, options);
    yield* rows.read(unread.slice(header.end));
  }
  if (rows === null)
    throw new LeadInputError(
      unread.includes('"')
        ? `${file} has an unclosed quote in its header.`
        : `${file} is empty; it does not even have a header line.`,
    );
  yield* rows.end();
}

const createCsvRows = ({ names, delimiter, breaks }: CsvHeader, options: RowOptions) => {
  const { hasHeader = true, onUnusedColumns } = options;
  const missingHint = hasHeader ? ' If the first line is already a row, say that there is no header.' : '';
  const { indexes, unused } = mapColumns(names, { ...options, missingHint });
  if (unused.length > 0) onUnusedColumns(unused);
  const batch = createBatchBuilder(options);
  // An empty cell may be an empty name or a missing one.
  const withoutName = { ...indexes, full_name: -1 };
  const cellIndexes = (cells: readonly string[]): typeof indexes =>
    cells[indexes.full_name]?.trim() === '' ? withoutName : indexes;
  /** The beginning of a row that continues in the next block. */
  let open = '';
  /** The next row's. */
  let line = breaks + 1;

  function* read(block: string, isLast = false): Generator<RowBatch> {
    const text = open + block;
    open = '';
    const scan = scanCsv(text, delimiter, names.length);
    const hasMarks = text.includes(notUtf8Mark);
    for (let at = 0; at < text.length;) {
      const start = at;
      const row = scan(start);
      if (row.state === 'open' && !isLast && text.length - start <= maxRowCharacters) {
        open = text.slice(start);
        return;
      }
      const first = line;
      const problem = problemOf(row, names.length);
      if (row.state === 'row' && (problem === null || row.breaks === 1)) {
        at = row.end;
        line += row.breaks;
      } else {
        const next = text.indexOf('\n', start) + 1;
        at = next === 0 ? text.length : next;
        line += 1;
      }
      const end = at;
      const show = (): string => text.slice(start, end).replace(/\r?\n$/, '');
      if (hasMarks && show().includes(notUtf8Mark)) batch.reject(notUtf8Problem, first, show);
      else if (problem !== null) {
        if (row.state === 'row' && isBlank(row.cells)) batch.addBlank();
        else batch.reject(problem, first, show);
      } else if (row.state === 'row') batch.add(fieldsOf(row.cells, cellIndexes(row.cells)), first, show);
      if (batch.isFull()) yield batch.take();
    }
  }

  return {
    /** Yields the rows that end in `block`, the next block in order. */
    read,
    /** Rejects the next line, which begins with `text`. */
    *skipLine(text: string): Generator<RowBatch> {
      yield* read('', true);
      batch.reject(tooLongProblem, line, () => text);
      line += 1;
      if (batch.isFull()) yield batch.take();
    },
    /** Yields the rest when no block follows. */
    *end(): Generator<RowBatch> {
      yield* read('', true);
      yield* batch.rest();
    },
  };
};

const problemOf = (row: CsvRow, columns: number): string | null => {
  switch (row.state) {
    case 'open':
      return `A quote in this row is not closed within ${maxRowCharacters} characters.`;
    case 'wrong':
      return 'Text follows a closing quote. Write a quote inside a quoted cell twice.';
    case 'wide':
      return `The row has more columns than the header, which has ${columns}. Is a quote not closed?`;
    case 'row':
      return row.cells.length === columns
        ? null
        : `The row has ${row.cells.length} columns, the header has ${columns}.`;
  }
};

const isBlank = (cells: readonly string[]): boolean => cells.length === 1 && cells[0]?.trim() === '';

interface CsvHeader {
  names: string[];
  delimiter: string;
  /** The index in `text` after the header. */
  end: number;
  /** The number of its lines. */
  breaks: number;
}

/** Blank lines before the first row, and the line with which spreadsheets declare the delimiter. */
const beforeRows = /^[\r\n]*(?:("?)sep=([^"\r\n])\1(?:\r?\n[\r\n]*|$))?/i;

/**
 * Reads names and delimiter from the first row of `text`. Without a header line the names are `#1`, `#2` and so on, and
 * the row is still to be read. Returns null if `text` does not hold the whole row. Throws LeadInputError if it cannot
 * be a header.
 */
const readCsvHeader = (text: string, { file, delimiter, hasHeader = true }: RowOptions): CsvHeader | null => {
  const [begin = '', , written] = beforeRows.exec(text) ?? [];
  if (begin.length === text.length) return null;
  const separator = delimiter ?? written ?? likelyDelimiter(text.slice(begin.length));
  const row = scanCsv(text, separator, maxColumns)(begin.length);
  if (row.state === 'open') return null;
  if (row.state === 'wrong')
    throw new LeadInputError(
      `${file} cannot be read as CSV: text follows a closing quote in its first row. Check the file, or name its delimiter.`,
    );
  if (row.state === 'wide' || row.cells.length > maxColumns)
    throw new LeadInputError(
      `${file} has more than ${maxColumns} columns. Leave out those that no field uses.`,
    );
  if (row.cells.some((cell) => cell.includes('\r')))
    throw new LeadInputError(`${file} ends its lines with CR alone. Convert it: tr '\\r' '\\n' < OLD > NEW`);
  const breaks = begin.split('\n').length - 1;
  if (!hasHeader) {
    const names = row.cells.map((_, index) => `#${index + 1}`);
    return { names, delimiter: separator, end: begin.length, breaks };
  }
  if (row.cells.some((cell) => cell.includes(notUtf8Mark)))
    throw new LeadInputError(`${file}, line ${breaks + row.breaks}: ${notUtf8Problem}`);
  const names = row.cells.map((cell) => cell.trim());
  return { names, delimiter: separator, end: row.end, breaks: breaks + row.breaks };
};

const delimiters = [',', ';', '\t', '|'] as const;

/** Returns the candidate that occurs most often in the first row, outside quotes. */
const likelyDelimiter = (text: string): string => {
  const [row = ''] = text.replace(/"[^"]*(?:"|$)/g, '').split('\n', 1);
  const parts = (delimiter: string): number => row.split(delimiter).length;
  return delimiters.reduce<string>((best, each) => (parts(each) > parts(best) ? each : best), delimiters[0]);
};

/** The result of reading a row at one position of a CSV text. */
type CsvRow =
  /** `end` is after the row's line break; `breaks` counts the line feeds up to there. */
  | { state: 'row'; cells: string[]; end: number; breaks: number }
  /** The text ends before an opened quote is closed. */
  | { state: 'open' }
  /** A closing quote is followed by something other than a delimiter. */
  | { state: 'wrong' }
  /** A row with a quote has more cells than the most; the rest of it is not read. */
  | { state: 'wide' };

const quote = '"';
const quoteCode = 0x22;
const lineFeedCode = 0x0a;
const carriageReturnCode = 0x0d;

/**
 * Reads `text` by RFC 4180: rows end with LF or CRLF, `delimiter` (one character) separates cells, and a quoted cell
 * may contain all of them and doubled quotes. A quote inside an unquoted cell is literal. The returned function reads
 * the row at `start`, up to `mostCells` if it has a quote: a quote may join all lines that follow, which are then reread one
 * by one. Calls must not go backwards.
 */
const scanCsv = (text: string, delimiter: string, mostCells: number): ((start: number) => CsvRow) => {
  const delimiterCode = delimiter.charCodeAt(0);
  /** The next quote after the start of the row; the text's length if there is none. */
  let quoteAt = -1;

  const indexOrEnd = (what: string, from: number): number => {
    const at = text.indexOf(what, from);
    return at === -1 ? text.length : at;
  };
  /** The end of a line's cells, before its line break. */
  const contentEnd = (start: number, lineEnd: number): number =>
    lineEnd > start && text.charCodeAt(lineEnd - 1) === carriageReturnCode ? lineEnd - 1 : lineEnd;

  const plainRow = (start: number, lineEnd: number): CsvRow => {
    const end = contentEnd(start, lineEnd);
    const cells: string[] = [];
    let from = start;
    // Faster than searching for each delimiter, because cells are short.
    for (let at = start; at < end; at += 1) {
      if (text.charCodeAt(at) !== delimiterCode) continue;
      cells.push(text.slice(from, at));
      from = at + 1;
    }
    cells.push(text.slice(from, end));
    return { state: 'row', cells, end: lineEnd + 1, breaks: 1 };
  };

  const quotedRow = (start: number): CsvRow => {
    const cells: string[] = [];
    let breaks = 1;
    let lineEnd = indexOrEnd('\n', start);
    let at = start;
    for (;;) {
      if (text.charCodeAt(at) === quoteCode) {
        const closing = closingQuote(at);
        if (closing === -1) return { state: 'open' };
        cells.push(unquoted(at + 1, closing));
        at = closing + 1;
        while (lineEnd < at) {
          breaks += 1;
          lineEnd = indexOrEnd('\n', lineEnd + 1);
        }
      } else {
        const cell = at;
        const end = contentEnd(at, lineEnd);
        while (at < end && text.charCodeAt(at) !== delimiterCode) at += 1;
        cells.push(text.slice(cell, at));
      }
      if (cells.length > mostCells) return { state: 'wide' };
      if (at >= text.length) return { state: 'row', cells, end: text.length + 1, breaks };
      const code = text.charCodeAt(at);
      if (code === delimiterCode) at += 1;
      else if (code === lineFeedCode || (code === carriageReturnCode && at + 1 === lineEnd))
        return { state: 'row', cells, end: lineEnd + 1, breaks };
      else return { state: 'wrong' };
    }
  };
  /** Returns the quote that closes the one at `at`; -1 if the text ends first. */
  const closingQuote = (at: number): number => {
    let closing = text.indexOf(quote, at + 1);
    while (closing !== -1 && text.charCodeAt(closing + 1) === quoteCode)
      closing = text.indexOf(quote, closing + 2);
    return closing;
  };
  const unquoted = (start: number, end: number): string => {
    const cell = text.slice(start, end);
    return cell.includes(quote) ? cell.replaceAll('""', quote) : cell;
  };

  return (start) => {
    if (quoteAt < start) quoteAt = indexOrEnd(quote, start);
    const lineEnd = indexOrEnd('\n', start);
    return quoteAt >= lineEnd ? plainRow(start, lineEnd) : quotedRow(start);
  };
};
