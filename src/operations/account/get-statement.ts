import { z } from 'zod';
import { toIso } from '../../kit/clock.ts';
import { csvLine } from '../../kit/csv.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import { periodEnd, periodNames } from '../../rules/key-limits.ts';
import type { HistoryPosition, StatementEntry } from '../../store/store.ts';
import { usd, usdOf } from '../answer-fields.ts';
import { privateAnswer } from '../answer.ts';
import type { Services } from '../call.ts';
import { readOperation } from '../define-operation.ts';
import { invalidQuery } from '../validate.ts';
import { seesAllKeys } from '../keys/key-answer.ts';
import { defineView } from '../view.ts';
import { transactionView } from './list-transactions.ts';

/** An entry with the balance after it. */
type BalancedEntry = StatementEntry & { balance: Nano };

const lineView = defineView<BalancedEntry, unknown>({
  key_id: 'The key, or the connection, that made the job. A key with limits is told only its own.',
  payment: 'The payment that raised the balance.',
  balance_usd: 'The balance after it, holds included.',
})({
  ...transactionView.members,
  kind: [z.string().nullable(), 'kind', 'image'],
  key_id: [z.string().nullable(), 'keyId', '019ab1c2-3d4e-7f60-8a9b-0c1d2e3f4a5b'],
  key_label: [z.string().nullable(), 'keyLabel', 'nightly reports'],
  payment: [z.string().nullable(), 'payment', null],
  balance_usd: usdOf('balance', '24.96'),
});

/** The entries of a page, and of a part of a file. */
const pageEntries = 1_000;
/** The statements that an account may begin in a minute: each sums up all entries since. */
const statementsPerMinute = 10;

const month = z
  .string()
  .regex(/^[1-9]\d{3}-(?:0[1-9]|1[0-2])$/, 'must be a month, such as 2026-11')
  .optional()
  .describe('A month in UTC, such as `2026-11`. Default: the present one.');

type StatementServices = Pick<Services, 'store' | 'clock' | 'accountLimiter' | 'historyCursors'>;

/** A month of an account, from a position and its balance on. */
interface Statement {
  accountId: string;
  /** Lines of other keys do not name them. Null: each is named. */
  onlyKey: string | null;
  name: string;
  until: number;
  after: HistoryPosition;
  balance: Nano;
}

export const getStatement = readOperation({
  name: 'get_statement',
  title: 'Read the statement of a month',
  description:
    'Every change of the balance in a month, oldest first, between the opening and the closing balance: as pages of JSON, or ' +
    `as one CSV file. At most ${statementsPerMinute} a minute, further pages not counted. Free.`,
  input: z.object({
    month,
    format: z
      .enum(['json', 'csv'])
      .default('json')
      .describe('csv: one file, with texts that no spreadsheet runs.'),
    cursor: z.string().min(1).max(512).optional().describe('next_cursor of the page before. Not with csv.'),
  }),
  output: z.looseObject({
    month: z.string(),
    currency: z.literal('USD'),
    opening_balance_usd: usd.describe(
      'Before the entries of this page. Of the first page: that of the month.',
    ),
    closing_balance_usd: usd.describe('After them. Of the last page: that of the month, or the present one.'),
    data: z.array(z.looseObject(lineView.schema.shape)),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  }),
  path: '/v1/statement',
  query: ['month', 'format', 'cursor'],
  file: 'text/csv',
  errors: ['invalid_cursor'],
  tool: null,
  docs: {
    answer: 'Statement',
    examples: [
      {
        summary: 'A month with one image',
        parameters: { month: '2026-11' },
        answer: {
          month: '2026-11',
          currency: 'USD',
          opening_balance_usd: '25.00',
          closing_balance_usd: '24.96',
          data: [lineView.example],
          has_more: false,
          next_cursor: null,
        },
      },
    ],
    wrong: { month: '2026-13' },
  },
  handle: async ({ month: asked, format, cursor }, { caller }, services: StatementServices) => {
    const own = {
      accountId: caller.accountId,
      onlyKey: seesAllKeys(caller) ? null : caller.keyId,
      name: asked ?? periodNames(services.clock.now())[1],
    };
    if (format === 'csv') {
      if (cursor !== undefined) throw invalidQuery('cursor', 'a CSV file has no pages. Leave it out.');
      const statement = await begin(own, services);
      const fileName = `statement-${own.name}.csv`;
      return {
        kind: 'file',
        contentType: 'text/csv; charset=utf-8',
        fileName,
        parts: writeCsv(statement, services),
      };
    }
    const statement = cursor === undefined ? await begin(own, services) : resume(own, cursor, services);
    const { lines, rest } = await readPage(statement, services);
    return privateAnswer({
      month: own.name,
      currency: 'USD',
      opening_balance_usd: formatUsd(statement.balance),
      closing_balance_usd: formatUsd(lines.at(-1)?.balance ?? statement.balance),
      data: lines.map((line) => lineView.show(line, null)),
      has_more: rest !== null,
      next_cursor: rest === null ? null : toCursor(rest, services),
    });
  },
});

type Own = Pick<Statement, 'accountId' | 'onlyKey' | 'name'>;

/** The time at which a month begins. */
const startOf = (name: string): number => Date.parse(`${name}-01T00:00:00Z`);

const untilOf = (name: string): number => periodEnd('month', startOf(name)) ?? 0;

/** Begins a month with its opening balance. Throws AppError 422 on one to come, and `rate_limit_exceeded`. */
const begin = async (own: Own, { store, clock, accountLimiter }: StatementServices): Promise<Statement> => {
  const start = startOf(own.name);
  if (start > clock.now()) throw invalidQuery('month', 'must not be in the future');
  await accountLimiter.consume(own.accountId, statementsPerMinute, 'statements');
  const balance = await store.balanceBefore({ accountId: own.accountId, time: start });
  if (balance === null) throw new Error(`the account ${own.accountId} of a caller is not in the store`);
  return { ...own, until: untilOf(own.name), after: { createdAt: start, id: '' }, balance };
};

/** A cursor is bound to its month, and has the balance at its position: no page sums up anew. */
const scopeOf = ({ accountId, name }: Own) => ({ accountId, list: `statement ${name}` });

const toCursor = ({ after, balance, ...own }: Statement, { historyCursors }: StatementServices): string =>
  historyCursors.write({ createdAt: after.createdAt, id: `${after.id}/${balance}` }, scopeOf(own));

/** Throws AppError `invalid_cursor`. */
const resume = (own: Own, cursor: string, { historyCursors }: StatementServices): Statement => {
  const { createdAt, id: written } = historyCursors.read(cursor, scopeOf(own));
  const [id = '', balance = ''] = written.split('/');
  return { ...own, until: untilOf(own.name), after: { createdAt, id }, balance: BigInt(balance) };
};

/** Reads the next entries. `rest`: the statement after them; null if there are no more. */
const readPage = async (
  statement: Statement,
  { store }: Pick<StatementServices, 'store'>,
): Promise<{ lines: BalancedEntry[]; rest: Statement | null }> => {
  const found = await store.listStatementEntries({ ...statement, limit: pageEntries + 1 });
  let { balance } = statement;
  const lines = found.slice(0, pageEntries).map((entry) => {
    balance += entry.amount;
    const isNamed = statement.onlyKey === null || entry.keyId === statement.onlyKey;
    return { ...entry, ...(isNamed ? {} : { keyId: null, keyLabel: null }), balance };
  });
  const last = found.length > pageEntries ? lines.at(-1) : undefined;
  return { lines, rest: last === undefined ? null : { ...statement, after: last, balance } };
};

const columns = 'created_at type kind model job_id key_id key_label payment id amount_usd balance_usd'.split(
  ' ',
);

const edgeLine = (type: 'opening_balance' | 'closing_balance', balance: Nano): string =>
  csvLine(columns.map((name) => (name === 'type' ? type : name === 'balance_usd' ? balance : '')));

const entryLine = ({ createdAt, type, kind, model, jobId, keyId, keyLabel, ...entry }: BalancedEntry) =>
  csvLine([
    toIso(createdAt),
    type,
    ...[kind, model, jobId, keyId, keyLabel, entry.payment].map((text) => text ?? ''),
    entry.id,
    entry.amount,
    entry.balance,
  ]);

/** Writes the whole month, page by page. */
async function* writeCsv(
  statement: Statement,
  services: Pick<StatementServices, 'store'>,
): AsyncGenerator<string> {
  yield csvLine(columns) + edgeLine('opening_balance', statement.balance);
  let { balance } = statement;
  for (let rest: Statement | null = statement; rest !== null;) {
    const page: Awaited<ReturnType<typeof readPage>> = await readPage(rest, services);
    balance = page.lines.at(-1)?.balance ?? balance;
    yield page.lines.map(entryLine).join('');
    ({ rest } = page);
  }
  yield edgeLine('closing_balance', balance);
}
