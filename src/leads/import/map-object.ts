import { follow, parsePointer } from '../json-pointer.ts';
import { leadFields, noFields, type LeadField } from '../lead-fields.ts';
import { columnKey, fieldNamed } from './column-names.ts';
import type { ColumnMap } from './input-options.ts';
import { shownValue } from './shown-value.ts';

export interface MappedObject {
  fields: Record<LeadField, unknown>;
  /** One sentence about a field with two equally good members of different values. `fields` has the first value. */
  problem: string | null;
}

/** The meaning of a member. A lower rank wins. `inner` is read from within a member that is an object. */
interface Target {
  field: LeadField;
  rank: number;
  inner: string | null;
}

/** Two or more equally good members of a field. */
interface Tie {
  field: LeadField;
  rank: number;
}

/** From the requested name to synonyms. An exact spelling ranks before another case. */
const ranks = { chosen: 0, chosenInOtherCase: 1, ownName: 2, ownNameOtherwise: 3, otherName: 4 } as const;
/** Added for lists and objects, so they rank after every plain value. */
const structureRank = 10;

const maxTold = 50;
/** Bounds memory for objects with ever new names. */
const maxNames = 10_000;

/**
 * Reads fields from objects that may differ in their members. Maps members by `columns`, then by the fields' names, then by known synonyms. A counter inside (`edge_followed_by: {
 * count }`) is found too. A null or empty member is skipped. A list or an object is skipped if another member of its
 * field has a plain value (`posts` beside `posts_count`), unless `columns` names it.
 */
export const createObjectMapper = ({ columns = {} }: { columns?: ColumnMap } = {}) => {
  const { pointers, targetOf } = readColumns(columns);
  const pointedAt = new Set(pointers.map(({ tokens }) => tokens[0]));
  const targets = new Map<string, Target | null>();
  const told = new Map<string, { isUsed: boolean }>();
  const learn = (name: string): Target | null => {
    const target = targetOf(name);
    if (targets.size >= maxNames) targets.clear();
    targets.set(name, target);
    if (told.size < maxTold) told.set(name, { isUsed: target !== null || pointedAt.has(name) });
    return target;
  };

  return {
    fieldsOf: (object: Record<string, unknown>): MappedObject => {
      const fields = { ...noFields };
      const bestRanks: Partial<Record<LeadField, number>> = {};
      const ties: Tie[] = [];
      for (const name of Object.keys(object)) {
        const known = targets.get(name);
        const target = known === undefined ? learn(name) : known;
        if (target === null) continue;
        const { field } = target;
        const value = valueOf(object, name, target);
        // An empty name means that the person shows none, unless another member has a name.
        if (value === '' && field === 'full_name') fields.full_name ??= value;
        if (saysNothing(value)) continue;
        const rank = rankOf(target, value);
        const best = bestRanks[field];
        if (best === undefined || rank < best) {
          bestRanks[field] = rank;
          fields[field] = value;
        } else if (rank === best && value !== fields[field]) ties.push({ field, rank });
      }
      for (const { field, tokens } of pointers) fields[field] = follow(object, tokens);
      // A better member may have followed two equal ones.
      const tie = ties.find(({ field, rank }) => bestRanks[field] === rank);
      return { fields, problem: tie === undefined ? null : describeTie(object, tie, targetOf) };
    },
    /** Member names seen so far, at most fifty. */
    names: (): string[] => [...told.keys()],
    /** Members among them that no field uses. */
    unused: (): string[] => [...told].filter(([, { isUsed }]) => !isUsed).map(([name]) => name),
  };
};

/** Splits `columns` into JSON pointers and a look-up of members by their names. */
const readColumns = (columns: ColumnMap) => {
  const chosen = new Map<string, { field: LeadField; column: string }>();
  const pointers: { field: LeadField; tokens: string[] }[] = [];
  for (const field of leadFields) {
    const column = columns[field];
    if (column?.startsWith('/') === true) pointers.push({ field, tokens: parsePointer(column) });
    else if (column !== undefined && column !== '') chosen.set(columnKey(column), { field, column });
  }
  const targetOf = (name: string): Target | null => {
    const choice = chosen.get(columnKey(name));
    if (choice !== undefined) {
      const { field, column } = choice;
      return { field, rank: name === column ? ranks.chosen : ranks.chosenInOtherCase, inner: null };
    }
    const named = fieldNamed(name);
    const counted = named === null ? fieldNamed(`${name}/count`) : null;
    const { field } = named ?? counted ?? {};
    if (field === undefined || columns[field] !== undefined) return null;
    if (named?.isOwnName !== true)
      return { field, rank: ranks.otherName, inner: named === null ? 'count' : null };
    return { field, rank: name === field ? ranks.ownName : ranks.ownNameOtherwise, inner: null };
  };
  return { pointers, targetOf };
};

const describeTie = (
  object: Record<string, unknown>,
  { field, rank }: Tie,
  targetOf: (name: string) => Target | null,
): string => {
  const byValue = new Map<unknown, string>();
  for (const name of Object.keys(object)) {
    const target = targetOf(name);
    if (target?.field !== field) continue;
    const value = valueOf(object, name, target);
    if (!saysNothing(value) && rankOf(target, value) === rank && !byValue.has(value))
      byValue.set(value, name);
  }
  const names = [...byValue.values()].slice(0, 2).map(shownValue).join(' and ');
  return `Several members have a value for ${field}: ${names}. Choose one: column ${field}=NAME.`;
};

/** Many dumps contain every name, with null or an empty text for unknown values. */
const saysNothing = (value: unknown): boolean => value === undefined || value === null || value === '';

const rankOf = ({ rank }: Target, value: unknown): number =>
  typeof value === 'object' && value !== null && rank > ranks.chosenInOtherCase ? rank + structureRank : rank;

const valueOf = (object: Record<string, unknown>, name: string, { inner }: Target): unknown =>
  inner === null ? object[name] : follow(object[name], [inner]);
