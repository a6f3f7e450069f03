import { z } from 'zod';
import type { ErrorCode } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { HistoryPosition } from '../../store/store.ts';
import { privateAnswer } from '../answer.ts';
import type { AccountCall, Services } from '../call.ts';
import type { ReadOperation } from '../definition.ts';
import { forRest } from '../schema-marks.ts';
import type { View } from '../view.ts';
import { readOperation } from '../define-operation.ts';

const pageFields = {
  limit: forRest(z.int().min(1).max(100).default(50), { description: 'How many items a page has.' }),
  cursor: z.string().min(1).max(512).optional().describe('next_cursor of the page before.'),
};

type Page = { [Name in keyof typeof pageFields]: z.output<(typeof pageFields)[Name]> };

/** A list of the account. Cursors are bound to its name. `Filter`: what a caller may look for. */
export interface HistoryList<Row extends HistoryPosition, Needs = Services, Filter = unknown> extends Pick<
  ReadOperation,
  'name' | 'title' | 'description'
> {
  path: string;
  /** Null: it is no tool. */
  tool?: null;
  filters?: { [Name in keyof Filter]: z.ZodType<Filter[Name]> };
  /** The error codes beside `invalid_cursor`. */
  errors?: readonly ErrorCode[];
  /** How an item is shown. */
  view: View<Row, Needs>;
  /** The name of a page's schema. */
  answer: string;
  /** `more`: the items beside the example of the view. */
  example: { summary: string; limit: number; more?: JsonObject[]; nextCursor?: string | null };
  /**
   * Reads one item more than a page has, which tells whether another page follows; or just the page, with the position
   * `next` after it, null at the end.
   */
  read(
    position: { accountId: string; limit: number; before: HistoryPosition | null } & Filter,
    call: AccountCall,
    services: Needs,
  ): Promise<Row[] | FoundPage<Row>>;
}

interface FoundPage<Row> {
  rows: Row[];
  next: HistoryPosition | null;
}

const cutPage = <Row extends HistoryPosition>(found: Row[], limit: number): FoundPage<Row> => {
  const rows = found.slice(0, limit);
  return { rows, next: found.length > limit ? (rows.at(-1) ?? null) : null };
};

/** Makes the operation that answers a list page by page, newest first. Later rows shift no page. */
export const historyOperation = <Row extends HistoryPosition, Needs = Services, Filter = unknown>({
  filters,
  view,
  answer,
  example: { summary, limit: exampleLimit, more = [], nextCursor = null },
  errors = [],
  read,
  ...parts
}: HistoryList<Row, Needs, Filter>) =>
  readOperation({
    ...parts,
    input: z.object({ ...filters, ...pageFields }) as unknown as z.ZodType<Page & Filter>,
    output: z.looseObject({
      data: z.array(view.schema),
      has_more: z.boolean(),
      next_cursor: z.string().nullable(),
    }),
    query: [...Object.keys(filters ?? {}), ...Object.keys(pageFields)],
    errors: ['invalid_cursor', ...errors],
    docs: {
      answer,
      examples: [
        {
          summary,
          parameters: { limit: exampleLimit },
          answer: {
            data: [toJson(view.example), ...more],
            has_more: nextCursor !== null,
            next_cursor: nextCursor,
          },
        },
      ],
      wrong: { limit: 101 },
    },
    handle: async (asked, call, services: Needs & Pick<Services, 'historyCursors'>) => {
      const { limit, cursor } = asked;
      const { accountId } = call.caller;
      const { historyCursors } = services;
      const scope = { accountId, list: parts.name };
      const before = cursor === undefined ? null : historyCursors.read(cursor, scope);
      const found = await read({ ...asked, accountId, limit: limit + 1, before }, call, services);
      const { rows, next } = Array.isArray(found) ? cutPage(found, limit) : found;
      return privateAnswer({
        data: rows.map((row) => toJson(view.show(row, services))),
        has_more: next !== null,
        next_cursor: next && historyCursors.write(next, scope),
      });
    },
  });

/** Every view of a list is JSON. */
const toJson = (item: object): JsonObject => item as JsonObject;
