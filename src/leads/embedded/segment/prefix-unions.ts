import type { DatabaseSync } from 'node:sqlite';
import { sharedUnits } from './dictionary-writer.ts';
import { isFilterTerm } from '../../query/index-terms.ts';
import type { ListWriter } from './list-writer.ts';
import { minPrefixCharacters } from '../../query/search-terms.ts';
import { seal, sealNames, type ListRef, type SegmentShape } from './segment-format.ts';
import { bitsOf, rowsOf } from './row-set.ts';

/**
 * Terms with a common beginning are a node of a trie. Only the path to the last term is in memory. A light node stores
 * its rows one by one. A heavy node has a bitmap and shares the lists of its children if they are few: `fitn` is the
 * list of `fitness` and a short list of all other terms with that beginning. A full union is stored only if there would
 * be too many lists. So the lists of all prefixes stay a small multiple of the terms' own lists.
 */
interface Node {
  /** The number of units that its terms begin with. */
  depth: number;
  terms: number;
  /** Rows of its terms, with possible repeats. Only while it is light. */
  lightRows: number[];
  union: Union | null;
}

/** The rows of a heavy node. */
interface Union {
  words: Uint32Array;
  size: number;
  /** Lists that hold the rows, except `rest`; null if there are too many. */
  lists: ListRef[] | null;
  rest: number[];
}

/** Writes the rows of each heavy prefix to `prefixes`. Takes all terms in UTF-16 order. */
export const createPrefixUnions = (
  database: DatabaseSync,
  { lists, profiles, shape }: { lists: ListWriter; profiles: number; shape: SegmentShape },
) => {
  const insert = database.prepare('INSERT INTO prefixes VALUES (?, ?)');
  const bitmaps = createBitmapPool(profiles);
  const { startUnion, absorbLight, absorbHeavy } = createUnions({ bitmaps, shape });
  const path: Node[] = [newNode(0)];
  let lastTerm = '';

  /** Removes `node` from the path. Its prefixes have more than `outerDepth` units. */
  const close = (node: Node, { parent, outerDepth }: { parent: Node; outerDepth: number }): void => {
    parent.terms += node.terms;
    const isSearched = parent.depth >= minPrefixCharacters;
    if (node.union === null) {
      if (isSearched) absorbLight(parent, node.lightRows);
      return;
    }
    const stored = storeUnion(node.union, { lists, shape });
    const refs = new Uint8Array(Uint32Array.from(stored.flatMap(({ list, count }) => [list, count])).buffer);
    for (let depth = outerDepth + 1; depth <= node.depth; depth += 1) {
      if (!isPrefix(lastTerm, depth)) continue;
      const prefix = lastTerm.slice(0, depth);
      insert.run(prefix, seal(refs, sealNames.prefix(prefix)));
    }
    if (isSearched) absorbHeavy(parent, node.union, stored);
    else bitmaps.giveBack(node.union.words);
  };

  /** Closes the nodes deeper than `depth`, the units that the next term shares with the last one. */
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
    /** `list` holds `rows` if they are stored in a list. */
    add: (term: string, rows: Uint32Array, list: ListRef | null): void => {
      if (isFilterTerm(term)) return;
      closeBelow(sharedUnits(lastTerm, term));
      lastTerm = term;
      if (term.length < minPrefixCharacters) return;
      const leaf = newNode(term.length);
      leaf.terms = 1;
      if (list !== null && list.count > shape.mostPrefixRows) leaf.union = startUnion(rows, list);
      else leaf.lightRows = Array.from(rows);
      path.push(leaf);
    },
    end: (): void => closeBelow(0),
  };
};

/** Returns the functions that add rows to nodes. */
const createUnions = ({ bitmaps, shape }: { bitmaps: BitmapPool; shape: SegmentShape }) => {
  const { mostShortRows, mostPrefixLists, mostPrefixTerms, mostPrefixRows } = shape;

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
  const makeHeavy = (node: Node, union: Union): void => {
    node.union = union;
    addRows(union, node.lightRows);
    node.lightRows = [];
  };

  return {
    startUnion: (rows: Uint32Array, list: ListRef): Union => {
      const words = bitmaps.take();
      setBits(words, rows);
      return { words, size: rows.length, lists: [list], rest: [] };
    },
    absorbLight: (node: Node, rows: ArrayLike<number>): void => {
      if (node.union !== null) return addRows(node.union, rows);
      for (let index = 0; index < rows.length; index += 1) node.lightRows.push(rows[index] ?? 0);
      if (node.lightRows.length > mostPrefixRows || node.terms > mostPrefixTerms)
        makeHeavy(node, { words: bitmaps.take(), size: 0, lists: [], rest: [] });
    },
    /** `stored` are the lists of the child's rows. */
    absorbHeavy: (node: Node, child: Union, stored: ListRef[]): void => {
      if (node.union === null)
        return makeHeavy(node, { words: child.words, size: child.size, lists: [...stored], rest: [] });
      const { union } = node;
      const taken =
        union.lists === null ? stored.length + mostPrefixLists : union.lists.length + stored.length;
      union.lists = union.lists === null || taken > mostPrefixLists ? null : [...union.lists, ...stored];
      union.size = orInto(union.words, child.words);
      bitmaps.giveBack(child.words);
    },
  };
};

/** Stores a heavy node's rows, in shared lists if possible, and returns the lists. */
const storeUnion = (
  union: Union,
  { lists, shape: { mostShortRows, mostPrefixLists } }: { lists: ListWriter; shape: SegmentShape },
): ListRef[] => {
  if (union.lists !== null && union.rest.length <= mostShortRows) {
    if (union.rest.length === 0) return union.lists;
    if (union.lists.length < mostPrefixLists)
      return [...union.lists, lists.add(Uint32Array.from(union.rest).sort())];
  }
  return [lists.add(rowsOf(union))];
};

const newNode = (depth: number): Node => ({ depth, terms: 0, lightRows: [], union: null });

/** Returns true if the first `depth` units of `text` can be searched: enough characters, none cut in half. */
const isPrefix = (text: string, depth: number): boolean => {
  const last = text.charCodeAt(depth - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  if (isHalf || depth < minPrefixCharacters) return false;
  return depth >= minPrefixCharacters * 2 || Array.from(text.slice(0, depth)).length >= minPrefixCharacters;
};

const setBits = (words: Uint32Array, rows: Uint32Array): void => {
  for (const row of rows) words[row >>> 5] = (words[row >>> 5] ?? 0) | (1 << (row & 31));
};

/** Returns the number of set bits afterwards. */
const orInto = (target: Uint32Array, source: Uint32Array): number => {
  let size = 0;
  for (let index = 0; index < target.length; index += 1) {
    const word = (target[index] ?? 0) | (source[index] ?? 0);
    target[index] = word;
    size += bitsOf(word);
  }
  return size;
};

type BitmapPool = ReturnType<typeof createBitmapPool>;

/** Reusable bitmaps of all rows: at most one per heavy node on a path. */
const createBitmapPool = (profiles: number) => {
  const free: Uint32Array[] = [];
  return {
    take: (): Uint32Array => free.pop() ?? new Uint32Array(Math.ceil(profiles / 32)),
    giveBack: (words: Uint32Array): void => {
      words.fill(0);
      free.push(words);
    },
  };
};
