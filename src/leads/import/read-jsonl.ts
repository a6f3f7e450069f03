import { shownValue } from '../query/shown-value.ts';
import { LeadInputError } from './input-options.ts';
import { fieldNotFound } from './map-columns.ts';
import { createObjectMapper } from './map-object.ts';
import { createBatchBuilder, type RowBatch, type RowOptions } from './row-batch.ts';
import { notUtf8Mark, notUtf8Problem, textBlocks, tooLongProblem } from './text-blocks.ts';

/** After this many objects, or at the end of the file, their members are compared with those of profiles. */
const objectsCompared = 500;

/** Reads the objects of a JSON Lines file from its unpacked bytes, and skips blank lines. */
export async function* readJsonl(
  chunks: AsyncIterable<Buffer>,
  options: RowOptions,
): AsyncGenerator<RowBatch> {
  const { file, columns, onUnusedColumns } = options;
  const batch = createBatchBuilder(options);
  const mapper = createObjectMapper(columns);
  const unmapped = { username: 0, followers: 0 };
  let line = 0;
  let objects = 0;
  /** Rows with two members for one field, and the problem of the first of them. */
  let ambiguous = 0;
  let ambiguity: string | null = null;
  /**
   * If none of the first rows has a member for a required field, or all have two for one field, the mapping is wrong,
   * not the rows.
   */
  const checkMapped = (): void => {
    if (ambiguity !== null && ambiguous === objects) throw new LeadInputError(`${file}: ${ambiguity}`);
    for (const field of ['username', 'followers'] as const)
      if (objects > 0 && unmapped[field] === objects) throw fieldNotFound(file, field, mapper.names());
  };

  const take = (text: string): void => {
    const show = (): string => text;
    if (text.includes(notUtf8Mark)) return batch.reject(notUtf8Problem, line, show);
    const object = parseObject(text);
    if (typeof object === 'string') return batch.reject(object, line, show);
    const { fields, problem } = mapper.fieldsOf(object);
    objects += 1;
    for (const field of ['username', 'followers'] as const)
      if (fields[field] === undefined) unmapped[field] += 1;
    if (problem !== null) {
      ambiguous += 1;
      ambiguity ??= problem;
    }
    if (objects === objectsCompared) checkMapped();
    if (problem === null) batch.add(fields, line, show);
    else batch.reject(problem, line, show);
  };

  for await (const { text, isCut } of textBlocks(chunks)) {
    for (let at = 0; at < text.length;) {
      const lineFeed = text.indexOf('\n', at);
      const end = lineFeed === -1 || isCut ? text.length : lineFeed;
      const content = text.slice(at, end).trim();
      at = end + 1;
      line += 1;
      if (isCut) batch.reject(tooLongProblem, line, () => content);
      else if (content !== '') take(content);
      if (batch.isFull()) yield batch.take();
    }
  }
  if (objects < objectsCompared) checkMapped();
  yield* batch.rest();
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
