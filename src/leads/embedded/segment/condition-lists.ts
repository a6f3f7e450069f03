import type { DatabaseSync } from 'node:sqlite';
import type { QueryTerm } from '../../query/search-terms.ts';
import { createByteCache } from './byte-cache.ts';
import type { Dictionary, TermEntry } from './dictionary.ts';
import { SegmentDamagedError, sealNames, unseal, type ListRef, type SegmentShape } from './segment-format.ts';
import { uniteRows } from './unite-rows.ts';

/** Where the rows that meet a condition are: what was found in the dictionary, and lists yet to be read. */
export interface ConditionLists {
  /** Ascending, each once. */
  rows: Uint32Array;
  lists: ListRef[];
  /** How many rows there are, those counted twice that are in two lists. */
  count: number;
}

/** Looks conditions up; the work for each is bounded, whatever begins with its letters. */
export const createConditionLookup = (
  database: DatabaseSync,
  { dictionary, shape }: { dictionary: Dictionary; shape: SegmentShape },
): ((condition: QueryTerm) => ConditionLists) => {
  const readPrefix = database.prepare('SELECT lists FROM prefixes WHERE prefix = ?');

  const heavyPrefix = (prefix: string): ConditionLists | null => {
    const entry = readPrefix.get(prefix);
    if (entry === undefined) return null;
    const lists = readRefs(unseal(entry['lists'], sealNames.prefix(prefix)));
    return { rows: new Uint32Array(0), lists, count: countOf(lists) };
  };
  const lightPrefix = (prefix: string): ConditionLists => {
    const entries = dictionary.beginningWith(prefix, shape.mostPrefixTerms);
    if (entries === null) throw new SegmentDamagedError(`the lists of the prefix ${prefix} are missing`);
    return gather(entries);
  };

  const wholeTerm = (term: string): ConditionLists => {
    const entry = dictionary.find(term);
    return gather(entry === null ? [] : [entry]);
  };
  const keptTerms = createByteCache<string, ConditionLists>(keptBytes, bytesOf);
  const keptPrefixes = createByteCache<string, ConditionLists>(keptBytes, bytesOf);

  return ({ text, isPrefix }) =>
    isPrefix
      ? keptPrefixes.get(text, (prefix) => heavyPrefix(prefix) ?? lightPrefix(prefix))
      : keptTerms.get(text, wholeTerm);
};

/** Of terms and of prefixes each. */
const keptBytes = 8 * 1024 * 1024;
const entryBytes = 512;
const listBytes = 64;

/** About what an answer takes in memory. */
const bytesOf = ({ rows, lists }: ConditionLists): number =>
  entryBytes + rows.byteLength + lists.length * listBytes;

const gather = (entries: readonly TermEntry[]): ConditionLists => {
  const rows = uniteRows(entries.flatMap((entry) => (entry.list === null ? [entry.rows] : [])));
  const lists = entries.flatMap((entry) => (entry.list === null ? [] : [entry.list]));
  return { rows, lists, count: rows.length + countOf(lists) };
};

const countOf = (lists: readonly ListRef[]): number => lists.reduce((sum, { count }) => sum + count, 0);

const readRefs = (bytes: Uint8Array): ListRef[] => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.byteLength / 8 }, (_, index) => ({
    list: view.getUint32(index * 8, true),
    count: view.getUint32(index * 8 + 4, true),
  }));
};
