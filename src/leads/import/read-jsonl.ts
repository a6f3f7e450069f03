import type { LeadDefaults } from '../lead-fields.ts';
import type { ColumnMap } from './input-options.ts';
import { LeadInputError } from './lead-input-error.ts';
import { fieldNotFound } from './map-columns.ts';
import { createObjectMapper } from './map-object.ts';
import { createBatchBuilder, type RowBatch } from './row-batch.ts';
import { shownValue } from './shown-value.ts';
import {
  countBytes,
  notUtf8Problem,
  textBlocks,
  tooLongProblem,
  type TextBlock,
  type TextPlace,
} from './text-blocks.ts';

export interface JsonlOptions {
  file: string;
  columns?: ColumnMap;
  defaults?: LeadDefaults;
  onUnusedColumns: (columns: readonly string[]) => void;
}

/** After this many rows, or at the end of the file, the members are compared with those of profiles. */
const rowsOfMapping = 500;

/**
 * Reads the objects of a JSON Lines file and skips blank lines. `openAt` gives its unpacked bytes from a position on.
 */
export async function* readJsonl(
  openAt: (byte: number) => AsyncIterable<Buffer>,
  after: TextPlace | null,
  { file, columns, defaults, onUnusedColumns }: JsonlOptions,
): AsyncGenerator<RowBatch<TextPlace>> {
  const begin = after ?? { byte: 0, line: 1 };
  const batch = createBatchBuilder<TextPlace>(begin, defaults);
  const mapper = createObjectMapper({ columns });
  const unmapped = { username: 0, followers: 0 };
  let objects = 0;
  /** Rows with two members for one field, and the problem of the first of them. */
  let ambiguous = 0;
  let ambiguity: string | null = null;
  /**
   * If none of the first rows has a member for a required field, or all have two for one field, the mapping is wrong,
   * not the rows.
   */
  const checkMapped = (names: readonly string[]): void => {
    if (ambiguity !== null && ambiguous === objects) throw new LeadInputError(`${file}: ${ambiguity}`);
    for (const field of ['username', 'followers'] as const)
      if (objects > 0 && unmapped[field] === objects) throw fieldNotFound(file, field, names);
  };

  const take = (text: string, line: number): void => {
    const show = (): string => text;
    const object = parseObject(text);
    if (typeof object === 'string') return batch.reject(object, line, show);
    const { fields, problem } = mapper.fieldsOf(object);
    objects += 1;
    for (const field of ['username', 'followers'] as const) {
      if (fields[field] === undefined) unmapped[field] += 1;
    }
    if (problem !== null) {
      ambiguous += 1;
      ambiguity ??= problem;
    }
    if (after === null && objects === rowsOfMapping) checkMapped(mapper.names());
    if (problem === null) batch.add(fields, line, show);
    else batch.reject(problem, line, show);
  };

  function* rowsOf(block: TextBlock): Generator<RowBatch<TextPlace>> {
    const { text, notUtf8 } = block;
    const byteAt = countBytes(block);
    let { line } = block.start;
    for (let at = 0; at < text.length; line += 1) {
      const lineFeed = text.indexOf('\n', at);
      const end = lineFeed === -1 ? text.length : lineFeed;
      const content = text.slice(at, end).trim();
      at = end + 1;
      if (content === '') continue;
      if (notUtf8?.has(line) === true) batch.reject(notUtf8Problem, line, () => content);
      else take(content, line);
      if (batch.isFull()) yield batch.take({ byte: byteAt(Math.min(at, text.length)), line: line + 1 });
    }
    if (batch.isFullAt(block.end.byte)) yield batch.take(block.end);
  }

  let end: TextPlace = begin;
  for await (const block of textBlocks(openAt(begin.byte), begin)) {
    ({ end } = block);
    if (block.isCut) batch.reject(tooLongProblem, block.start.line, () => block.text);
    else yield* rowsOf(block);
  }
  if (after === null && objects < rowsOfMapping) checkMapped(mapper.names());
  if (!batch.isEmpty()) yield batch.take(end);
  const unused = mapper.unused();
  if (unused.length > 0) onUnusedColumns(unused);
}

/** Returns the object, or the problem as text. */
const parseObject = (text: string): Record<string, unknown> | string => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `The line is not JSON: ${shownValue(why).slice(1, -1)}.`;
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : `The line is ${shownValue(value)}; it must be one JSON object.`;
};
