import { z } from 'zod';
import type { JsonObject } from '../../kit/json.ts';
import type { HistoryPosition } from '../../store/store.ts';
import { forRest } from '../schema-marks.ts';
import {
  type AccountCall,
  type JsonAnswer,
  type Services,
  jsonAnswer,
  type OperationDocs,
} from '../operation.ts';
import { readOperation } from '../read-operation.ts';

const pageInput = z.object({
  limit: forRest(z.int().min(1).max(100).default(50), { description: 'How many items a page has.' }),
  cursor: z.string().min(1).max(512).optional().describe('next_cursor of the page before.'),
});

type PageInput = z.infer<typeof pageInput>;

const pageSchema = (item: z.ZodType) =>
  z.looseObject({ data: z.array(item), has_more: z.boolean(), next_cursor: z.string().nullable() });

export interface HistoryList<Row extends HistoryPosition> {
  /** The operation's name. Cursors are bound to it. */
  name: string;
  title: string;
  description: string;
  path: string;
  item: z.ZodType;
  /** The name of a page's schema. */
  answer: string;
  examples: OperationDocs['examples'];
  read(
    position: { accountId: string; limit: number; before: HistoryPosition | null },
    services: Services,
  ): Promise<Row[]>;
  toItem(row: Row): JsonObject;
}

/** Makes the operation that answers a list page by page. */
export const historyOperation = <Row extends HistoryPosition>(list: HistoryList<Row>) =>
  readOperation({
    name: list.name,
    title: list.title,
    description: list.description,
    input: pageInput,
    output: pageSchema(list.item),
    path: list.path,
    query: ['limit', 'cursor'],
    errors: ['invalid_cursor'],
    docs: {
      answer: list.answer,
      description: null,
      examples: list.examples,
      wrong: { limit: 101 },
      headers: {},
      mayBeSandbox: false,
    },
    handle: (input, call, services) => answerPage(list, input, call, services),
  });

/** Answers one page, newest first. Later rows come before the first page and shift none. */
const answerPage = async <Row extends HistoryPosition>(
  { name, read, toItem }: HistoryList<Row>,
  { limit, cursor }: PageInput,
  { caller: { accountId } }: AccountCall,
  services: Services,
): Promise<JsonAnswer> => {
  const { historyCursors } = services;
  const scope = { accountId, list: name };
  const before = cursor === undefined ? null : await historyCursors.read(cursor, scope);
  const rows = await read({ accountId, limit: limit + 1, before }, services);
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return jsonAnswer(
    {
      data: page.map(toItem),
      has_more: last !== undefined,
      next_cursor: last === undefined ? null : await historyCursors.write(last, scope),
    },
    { headers: { 'cache-control': 'no-store' } },
  );
};
