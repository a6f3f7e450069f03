import type { DatabaseSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import type { QueryTerm } from '../../query/search-terms.ts';
import type { Dictionary, TermEntry } from './dictionary.ts';
import { SegmentDamagedError, sealNames, unseal, type ListRef, type SegmentShape } from './segment-format.ts';
import { uniteRows } from './row-set.ts';

/** The rows of a condition: those from the dictionary, and lists still to be read. */
export interface ConditionLists {
  /** Ascending and distinct. */
  rows: Uint32Array;
  lists: ListRef[];
  /** The number of rows. A row in two lists counts twice. */
  count: number;
}

/** Looks conditions up. The work per condition is bounded, however many terms have its prefix. */
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
  const cacheOf = (look: (text: string) => ConditionLists) =>
    new LRUCache<string, ConditionLists>({ maxSize: keptBytes, sizeCalculation: bytesOf, memoMethod: look });
  const terms = cacheOf(wholeTerm);
  const prefixes = cacheOf((prefix) => heavyPrefix(prefix) ?? lightPrefix(prefix));

  return ({ text, isPrefix }) => (isPrefix ? prefixes : terms).memo(text);
};

/** For terms and for prefixes each. */
const keptBytes = 8 * 1024 * 1024;
const entryBytes = 512;
const listBytes = 64;

/** Estimates the memory of an answer. */
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
