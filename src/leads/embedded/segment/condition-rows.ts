import type { ConditionLists } from './condition-lists.ts';
import { uniteRows } from './row-set.ts';
import type { LongList, OpenList } from './stored-lists.ts';

/** The rows of one condition: `rows`, ascending and distinct, and those of the long lists. */
export interface ConditionRows {
  rows: Uint32Array;
  long: LongList[];
}

export const readCondition = ({ rows, lists }: ConditionLists, openList: OpenList): ConditionRows => {
  const short = [rows];
  const long: LongList[] = [];
  for (const list of lists) {
    const opened = openList(list);
    if (opened.long === null) short.push(opened.rows);
    else long.push(opened.long);
  }
  return { rows: uniteRows(short), long };
};
