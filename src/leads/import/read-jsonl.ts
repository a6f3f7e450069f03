import { LeadInputError } from './lead-input-error.ts';
import { fieldNotFound } from './map-columns.ts';
import { createObjectMapper } from './map-object.ts';
import { createBatchBuilder, type RowBatch, type RowOptions } from './row-batch.ts';
import { shownValue } from './shown-value.ts';
import { notUtf8Problem, textBlocks, tooLongProblem, type TextBlock } from './text-blocks.ts';

/** After this many rows, or at the end of the file, the members are compared with those of profiles. */
export const rowsOfMapping = 500;

/** Reads the objects of a JSON Lines file from its unpacked bytes, and skips blank lines. */
export async function* readJsonl(
  chunks: AsyncIterable<Buffer>,
  options: RowOptions,
): AsyncGenerator<RowBatch> {
  const { file, skip, columns, onUnusedColumns } = options;
  const batch = createBatchBuilder(options);
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
    if (skip === 0 && objects === rowsOfMapping) checkMapped(mapper.names());
    if (problem === null) batch.add(fields, line, show);
    else batch.reject(problem, line, show);
  };

  function* rowsOf({ text, notUtf8, line: first }: TextBlock): Generator<RowBatch> {
    let line = first;
    for (let at = 0; at < text.length; line += 1) {
      const lineFeed = text.indexOf('\n', at);
      const end = lineFeed === -1 ? text.length : lineFeed;
      const content = text.slice(at, end).trim();
      at = end + 1;
      if (content === '' || batch.skips()) continue;
      if (notUtf8?.has(line) === true) batch.reject(notUtf8Problem, line, () => content);
      else take(content, line);
      if (batch.isFull()) yield batch.take();
    }
    if (!batch.isEmpty()) yield batch.take();
  }

  for await (const block of textBlocks(chunks)) {
    if (!block.isCut) yield* rowsOf(block);
    else if (!batch.skips()) batch.reject(tooLongProblem, block.line, () => block.text);
  }
  if (skip === 0 && objects < rowsOfMapping) checkMapped(mapper.names());
  if (!batch.isEmpty()) yield batch.take();
  const unused = mapper.unused();
  if (unused.length > 0) onUnusedColumns(unused);
}

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
