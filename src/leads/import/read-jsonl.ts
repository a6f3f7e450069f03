import { shownValue } from '../query/shown-value.ts';
import { LeadInputError, type ColumnMap } from './input-options.ts';
import { fieldNotFound } from './map-columns.ts';
import { createBatchBuilder, type RowBatch, type RowOptions } from './row-batch.ts';
import { notUtf8Mark, notUtf8Problem, textBlocks, tooLongProblem } from './text-blocks.ts';
import { follow, parsePointer } from '../../kit/json-pointer.ts';
import { leadFields, noFields, type LeadField } from '../lead-fields.ts';
import { fieldNamed, isSameColumn } from './column-names.ts';

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
      else if (content === '') batch.addBlank();
      else take(content);
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

/** A field that a member fills. A lower rank wins. */
interface Target {
  field: LeadField;
  rank: number;
  /** The value is the member's own member `count`. */
  isCounter: boolean;
}

/** From the requested name to synonyms. An exact spelling ranks before another case. */
const ranks = { chosen: 0, chosenInOtherCase: 1, ownName: 2, ownNameOtherwise: 3, otherName: 4 } as const;
/** Added for lists and objects, so they rank after every plain value. */
const structureRank = 10;

const maxTold = 50;
/** Bounds memory for objects with ever new names. Longer names are not kept. */
const maxNames = 10_000;
const longestNameKept = 200;

/**
 * Reads fields from objects that may differ in their members. Maps members by `columns`, then by the fields' names, then
 * by known synonyms. A counter inside (`edge_followed_by: { count }`) is found too. A null or empty member is skipped. A
 * list or an object is skipped if another member of its field has a plain value (`posts` beside `posts_count`), unless
 * `columns` names it.
 */
const createObjectMapper = (columns: ColumnMap = {}) => {
  const pointers = leadFields.flatMap((field) => {
    const column = columns[field] ?? '';
    return column.startsWith('/') ? [{ field, tokens: parsePointer(column) }] : [];
  });
  const known = new Map<string, readonly Target[]>();
  /** The first names, and whether a field uses them. */
  const told = new Map<string, boolean>();
  const learn = (name: string): readonly Target[] => {
    const targets = targetsOf(name, columns);
    if (name.length > longestNameKept) return targets;
    if (known.size >= maxNames) known.clear();
    known.set(name, targets);
    if (told.size < maxTold)
      told.set(name, targets.length > 0 || pointers.some(({ tokens }) => tokens[0] === name));
    return targets;
  };

  return {
    /** `problem` is one sentence about a field with two equally good members. `fields` has the first of their values. */
    fieldsOf: (object: Record<string, unknown>) => {
      const fields = { ...noFields };
      const best: Partial<Record<LeadField, { rank: number; name: string }>> = {};
      const ties: { field: LeadField; rank: number; names: string[] }[] = [];
      for (const name of Object.keys(object)) {
        for (const target of known.get(name) ?? learn(name)) {
          const { field } = target;
          const value = target.isCounter ? follow(object[name], ['count']) : object[name];
          // An empty name means that the person shows none, unless another member has a name.
          if (value === '' && field === 'full_name') fields.full_name ??= value;
          // Many dumps contain every name, with null or an empty text for unknown values.
          if (value === undefined || value === null || value === '') continue;
          const rank = rankOf(target, value);
          const found = best[field];
          if (found === undefined || rank < found.rank) {
            best[field] = { rank, name };
            fields[field] = value;
          } else if (rank === found.rank && value !== fields[field])
            ties.push({ field, rank, names: [found.name, name] });
        }
      }
      for (const { field, tokens } of pointers) fields[field] = follow(object, tokens);
      // A better member may have followed two equal ones.
      const tie = ties.find(({ field, rank }) => best[field]?.rank === rank);
      if (tie === undefined) return { fields, problem: null };
      const names = tie.names.map(shownValue).join(' and ');
      return {
        fields,
        problem: `Several members have a value for ${tie.field}: ${names}. Choose one: column ${tie.field}=NAME.`,
      };
    },
    /** Member names seen so far, at most fifty. */
    names: (): string[] => [...told.keys()],
    /** Members among them that no field uses. */
    unused: (): string[] => [...told].filter(([, isUsed]) => !isUsed).map(([name]) => name),
  };
};

const targetsOf = (name: string, columns: ColumnMap): Target[] => {
  const chosen = leadFields.flatMap((field): Target[] => {
    const column = columns[field] ?? '';
    if (column === '' || column.startsWith('/') || !isSameColumn(column, name)) return [];
    return [{ field, rank: name === column ? ranks.chosen : ranks.chosenInOtherCase, isCounter: false }];
  });
  if (chosen.length > 0) return chosen;
  const named = fieldNamed(name);
  const { field, isOwnName } = named ?? fieldNamed(`${name}/count`) ?? {};
  if (field === undefined || columns[field] !== undefined) return [];
  const ownRank = name === field ? ranks.ownName : ranks.ownNameOtherwise;
  return [{ field, rank: isOwnName === true ? ownRank : ranks.otherName, isCounter: named === null }];
};

const rankOf = ({ rank }: Target, value: unknown): number =>
  typeof value === 'object' && value !== null && rank > ranks.chosenInOtherCase ? rank + structureRank : rank;
