import type { DatabaseSync } from 'node:sqlite';
import { sharedUnits } from './dictionary-writer.ts';
import { isFilterTerm } from '../../query/index-terms.ts';
import type { ListWriter } from './list-writer.ts';
import { minPrefixCharacters } from '../../query/search-terms.ts';
import { seal, sealNames, type ListRef, type SegmentShape } from './segment-format.ts';
import { bitsOf, rowsOf } from './row-set.ts';

/** Puts into `prefixes` what begins with each heavy prefix; is told all terms, in the order of UTF-16 units. */
export interface PrefixUnions {
  /** `list` holds `rows` when they have one. */
  add(term: string, rows: Uint32Array, list: ListRef | null): void;
  end(): void;
}

/**
 * The terms that begin alike are a node of a trie, of which only the path to the last term is held. While a node is
 * light its rows are remembered one by one; a heavy one has a bitmap, and lists that it shares with its children where
 * few do: `fitn` is the list of `fitness` and a short one of all else that begins so. A full union is stored only where
 * too many lists would come together, so that the lists of all prefixes stay a small multiple of the terms' own.
 */
interface Node {
  /** The units that its terms begin with alike. */
  depth: number;
  terms: number;
  /** Rows of its terms; may repeat. Only while it is light. */
  lightRows: number[];
  union: Union | null;
}

/** The rows of a heavy node. */
interface Union {
  words: Uint32Array;
  size: number;
  /** Lists that hold them, but for `rest`; null when there are too many. */
  lists: ListRef[] | null;
  rest: number[];
}

export const createPrefixUnions = (
  database: DatabaseSync,
  { lists, profiles, shape }: { lists: ListWriter; profiles: number; shape: SegmentShape },
): PrefixUnions => {
  const { mostShortRows, mostPrefixLists, mostPrefixTerms, mostPrefixRows } = shape;
  const insert = database.prepare('INSERT INTO prefixes VALUES (?, ?)');
  const bitmaps = createBitmapPool(profiles);
  const path: Node[] = [newNode(0)];
  let lastTerm = '';

  /** Adds rows that are in no list of the union. */
  const addRows = (union: Union, rows: ArrayLike<number>): void => {
    const { words } = union;
    for (let index = 0; index < rows.length; index += 1) {
      const row = rows[index] ?? 0;
      const word = words[row >>> 5] ?? 0;
      const bit = 1 << (row & 31);
      if ((word & bit) !== 0) continue;
      words[row >>> 5] = word | bit;
      union.size += 1;
      if (union.lists !== null && union.rest.length <= mostShortRows) union.rest.push(row);
    }
  };

  const unite = (node: Node): Union => {
    if (node.union !== null) return node.union;
    const union: Union = { words: bitmaps.take(), size: 0, lists: [], rest: [] };
    node.union = union;
    addRows(union, node.lightRows);
    node.lightRows = [];
    return union;
  };

  const absorbLight = (node: Node, rows: ArrayLike<number>): void => {
    if (node.union !== null) {
      addRows(node.union, rows);
      return;
    }
    for (let index = 0; index < rows.length; index += 1) node.lightRows.push(rows[index] ?? 0);
    if (node.lightRows.length > mostPrefixRows || node.terms > mostPrefixTerms) unite(node);
  };

  /** `stored` is where the child's rows are. */
  const absorbHeavy = (node: Node, child: Union, stored: ListRef[]): void => {
    if (node.union === null) {
      node.union = { words: child.words, size: child.size, lists: [...stored], rest: [] };
      addRows(node.union, node.lightRows);
      node.lightRows = [];
      return;
    }
    const { union } = node;
    const taken = union.lists === null ? stored.length + mostPrefixLists : union.lists.length + stored.length;
    union.lists = union.lists === null || taken > mostPrefixLists ? null : [...union.lists, ...stored];
    union.size = orInto(union.words, child.words);
    bitmaps.giveBack(child.words);
  };

  /** Stores a heavy node's rows, as lists it shares where that is possible, and returns these. */
  const store = (union: Union): ListRef[] => {
    if (union.lists !== null && union.rest.length <= mostShortRows) {
      if (union.rest.length === 0) return union.lists;
      if (union.lists.length < mostPrefixLists)
        return [...union.lists, lists.add(Uint32Array.from(union.rest).sort())];
    }
    return [lists.add(rowsOf(union))];
  };

  /** Takes `node` off the path: its prefixes are those of more than `outerDepth` units. */
  const close = (node: Node, { parent, outerDepth }: { parent: Node; outerDepth: number }): void => {
    parent.terms += node.terms;
    const isSearched = parent.depth >= minPrefixCharacters;
    if (node.union === null) {
      if (isSearched) absorbLight(parent, node.lightRows);
      return;
    }
    const stored = store(node.union);
    const refs = new Uint8Array(Uint32Array.from(stored.flatMap(({ list, count }) => [list, count])).buffer);
    for (let depth = outerDepth + 1; depth <= node.depth; depth += 1) {
      if (!isPrefix(lastTerm, depth)) continue;
      const prefix = lastTerm.slice(0, depth);
      insert.run(prefix, seal(refs, sealNames.prefix(prefix)));
    }
    if (isSearched) absorbHeavy(parent, node.union, stored);
    else bitmaps.giveBack(node.union.words);
  };

  /** Closes what does not begin like a term that shares `depth` units with the last one. */
  const closeBelow = (depth: number): void => {
    for (let top = path.at(-1); top !== undefined && top.depth > depth; top = path.at(-1)) {
      path.pop();
      const outer = path.at(-1);
      if (outer === undefined) throw new Error('The path of prefixes has lost its root.');
      if (outer.depth >= depth) {
        close(top, { parent: outer, outerDepth: outer.depth });
      } else {
        const fork = newNode(depth);
        path.push(fork);
        close(top, { parent: fork, outerDepth: depth });
      }
    }
  };

  return {
    add: (term, rows, list) => {
      if (isFilterTerm(term)) return;
      closeBelow(sharedUnits(lastTerm, term));
      lastTerm = term;
      if (term.length < minPrefixCharacters) return;
      const leaf = newNode(term.length);
      leaf.terms = 1;
      if (list !== null && list.count > mostPrefixRows) {
        leaf.union = { words: bitmaps.take(), size: rows.length, lists: [list], rest: [] };
        setBits(leaf.union.words, rows);
      } else {
        leaf.lightRows = Array.from(rows);
      }
      path.push(leaf);
    },
    end: () => closeBelow(0),
  };
};

const newNode = (depth: number): Node => ({ depth, terms: 0, lightRows: [], union: null });

/** Whether the first `depth` units of `text` are a beginning that is searched for: enough characters, all whole. */
const isPrefix = (text: string, depth: number): boolean => {
  const last = text.charCodeAt(depth - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  if (isHalf || depth < minPrefixCharacters) return false;
  return depth >= minPrefixCharacters * 2 || Array.from(text.slice(0, depth)).length >= minPrefixCharacters;
};

const setBits = (words: Uint32Array, rows: Uint32Array): void => {
  for (const row of rows) words[row >>> 5] = (words[row >>> 5] ?? 0) | (1 << (row & 31));
};

/** Returns how many bits are set afterwards. */
const orInto = (target: Uint32Array, source: Uint32Array): number => {
  let size = 0;
  for (let index = 0; index < target.length; index += 1) {
    const word = (target[index] ?? 0) | (source[index] ?? 0);
    target[index] = word;
    size += bitsOf(word);
  }
  return size;
};

/** Bitmaps of all rows, used again: as many as there are heavy nodes on a path, at most. */
const createBitmapPool = (profiles: number): { take(): Uint32Array; giveBack(words: Uint32Array): void } => {
  const free: Uint32Array[] = [];
  return {
    take: () => free.pop() ?? new Uint32Array(Math.ceil(profiles / 32)),
    giveBack: (words) => {
      words.fill(0);
      free.push(words);
    },
  };
};
