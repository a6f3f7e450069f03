import { z } from 'zod';
import type { ErrorCode } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { HistoryPosition } from '../../store/store.ts';
import { jsonAnswer } from '../answer.ts';
import type { AccountCall, Services } from '../call.ts';
import type { ReadOperation } from '../definition.ts';
import { forRest } from '../schema-marks.ts';
import type { View } from '../view.ts';
import { readOperation } from '../define-operation.ts';

const input = z.object({
  limit: forRest(z.int().min(1).max(100).default(50), { description: 'How many items a page has.' }),
  cursor: z.string().min(1).max(512).optional().describe('next_cursor of the page before.'),
});

/** A list of the account. Cursors are bound to its name. */
export interface HistoryList<Row extends HistoryPosition, Needs = Services> extends Pick<
  ReadOperation,
  'name' | 'title' | 'description'
> {
  path: string;
  /** Null: it is no tool. */
  tool?: null;
  /** The error codes beside `invalid_cursor`. */
  errors?: readonly ErrorCode[];
  /** How an item is shown. */
  view: View<Row, Needs>;
  /** The name of a page's schema. */
  answer: string;
  /** `more`: the items beside the example of the view. */
  example: { summary: string; limit: number; more?: JsonObject[]; nextCursor?: string | null };
  read(
    position: { accountId: string; limit: number; before: HistoryPosition | null },
    call: AccountCall,
    services: Needs,
  ): Promise<Row[]>;
}

/** Makes the operation that answers a list page by page, newest first. Later rows shift no page. */
export const historyOperation = <Row extends HistoryPosition, Needs = Services>({
  view,
  answer,
  example: { summary, limit: exampleLimit, more = [], nextCursor = null },
  errors = [],
  read,
  ...parts
}: HistoryList<Row, Needs>) =>
  readOperation({
    ...parts,
    input,
    output: z.looseObject({
      data: z.array(view.schema),
      has_more: z.boolean(),
      next_cursor: z.string().nullable(),
    }),
    query: ['limit', 'cursor'],
    errors: ['invalid_cursor', ...errors],
    docs: {
      answer,
      examples: [
        {
          summary,
          parameters: { limit: exampleLimit },
          status: 200,
          answer: {
            data: [toJson(view.example), ...more],
            has_more: nextCursor !== null,
            next_cursor: nextCursor,
          },
        },
      ],
      wrong: { limit: 101 },
    },
    handle: async ({ limit, cursor }, call, services: Needs & Pick<Services, 'historyCursors'>) => {
      const { accountId } = call.caller;
      const { historyCursors } = services;
      const scope = { accountId, list: parts.name };
      const before = cursor === undefined ? null : historyCursors.read(cursor, scope);
      const rows = await read({ accountId, limit: limit + 1, before }, call, services);
      const page = rows.slice(0, limit);
      const last = rows.length > limit ? page.at(-1) : undefined;
      return jsonAnswer(
        {
          data: page.map((row) => toJson(view.show(row, services))),
          has_more: last !== undefined,
          next_cursor: last === undefined ? null : historyCursors.write(last, scope),
        },
        { headers: { 'cache-control': 'no-store' } },
      );
    },
  });

/** Every view of a list is JSON. */
const toJson = (item: object): JsonObject => item as JsonObject;
