/** The result of reading a row at one position of a CSV text. */
export type CsvRow =
  /** `end` is after the row's line break; `breaks` counts the line feeds up to there. */
  | { state: 'row'; cells: string[]; end: number; breaks: number }
  /** The text ends before an opened quote is closed. */
  | { state: 'open' }
  /** A closing quote is followed by something other than a delimiter. */
  | { state: 'wrong' };

const quote = '"';
const quoteCode = 0x22;
const lineFeedCode = 0x0a;
const carriageReturnCode = 0x0d;

/**
 * Reads `text` by RFC 4180: rows end with LF or CRLF, `delimiter` (one character) separates cells, and a quoted cell
 * may contain all of them and doubled quotes. A quote inside an unquoted cell is literal. The returned function reads
 * the row at `start`. Calls must not go backwards.
 */
export const scanCsv = (text: string, delimiter: string): ((start: number) => CsvRow) => {
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
        const end = Math.min(indexOrEnd(delimiter, at), contentEnd(at, lineEnd));
        cells.push(text.slice(at, end));
        at = end;
      }
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
