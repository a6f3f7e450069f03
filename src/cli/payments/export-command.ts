import type { Command } from 'commander';
import { toIso } from '../../kit/clock.ts';
import { formatTokenAmount, type FindToken } from '../../purchases/token-amount.ts';
import type { Payment, Store } from '../../store/store.ts';
import type { Answer, CommandContext } from '../command-context.ts';
import { CommandError } from '../command-error.ts';
import { csvLine } from '../csv-line.ts';
import { addExamples } from '../examples.ts';
import { writeNewFile } from '../write-new-file.ts';
import { readTokens } from './tokens.ts';
import { addDayOptions, toDays, type DayOptions, type Days } from './days.ts';

const pageSize = 100;
const maxRefunds = 1_000;

const header = csvLine([
  'settled_at',
  'network',
  'asset',
  'amount',
  'payer',
  'pay_to',
  'transaction',
  'state',
  'refunded',
  'refund_transactions',
  'payment',
]);

interface Source {
  store: Store;
  findToken: FindToken;
}

/** A decimal of the token; whole smallest units where the token is not known, which have no point. */
const decimalOf = (payment: Payment, amount: bigint, findToken: FindToken): string => {
  const token = findToken(payment);
  return token === null ? amount.toString() : formatTokenAmount(amount, token.decimals);
};

const toLine = async (payment: Payment, { store, findToken }: Source): Promise<string> => {
  const refunds = await store.listRefunds({ payment: payment.identity, limit: maxRefunds });
  const settled = refunds.filter(({ state }) => state === 'settled');
  return csvLine([
    payment.settledAt === null ? '' : toIso(payment.settledAt),
    payment.network,
    payment.asset,
    decimalOf(payment, payment.amount, findToken),
    payment.payer ?? '',
    payment.payTo,
    payment.transaction ?? '',
    payment.state,
    decimalOf(
      payment,
      settled.reduce((sum, { amount }) => sum + amount, 0n),
      findToken,
    ),
    settled.map(({ transaction }) => transaction ?? '').join(' '),
    payment.identity,
  ]);
};

/** Writes page by page, so that memory does not grow with the number of payments; answers how many there were. */
const writeLines = async (
  source: Source,
  days: Days,
  write: (text: string) => Promise<void>,
): Promise<number> => {
  await write(header);
  let count = 0;
  let after: { settledAt: number; identity: string } | null = null;
  for (;;) {
    const page: Payment[] = await source.store.listSettledPayments({ ...days, after, limit: pageSize });
    if (page.length > 0)
      await write((await Promise.all(page.map((payment) => toLine(payment, source)))).join(''));
    count += page.length;
    const last = page.at(-1);
    if (last === undefined || last.settledAt === null || page.length < pageSize) return count;
    after = { settledAt: last.settledAt, identity: last.identity };
  }
};

/** Adds `payments export`. */
export const addExportCommand = (payments: Command, context: CommandContext): void => {
  const exporting = payments
    .command('export')
    .summary('write settled payments as CSV')
    .description(
      'Writes the payments that were settled in these days as CSV, oldest first, with what was given back of each by ' +
        'now. A field that a spreadsheet would take for a formula begins with an apostrophe. Without --output, the ' +
        'lines go to stdout.',
    );
  addDayOptions(exporting)
    .option('--output <file>', 'write to this new file, which only you can read')
    .action(({ output, ...options }: DayOptions & { output?: string }, command: Command) =>
      context.run(async ({ store, clock, config, writePart }): Promise<Answer> => {
        const days = toDays(options, clock.now());
        const source = { store, findToken: await readTokens({ config }) };
        if (output !== undefined) {
          const count = await writeNewFile(output, (write) => writeLines(source, days, write));
          return { json: { file: output, payments: count }, text: `${output}: ${count} payments.` };
        }
        if (command.optsWithGlobals<{ json?: true }>().json === true)
          throw new CommandError('invalid_usage', 'With --json, name a file for the CSV: --output FILE.');
        const count = await writeLines(source, days, writePart);
        return { json: { payments: count }, text: null, remark: `${count} payments.` };
      }),
    );
  addExamples(exporting, [
    'causeway payments export --from 2026-10-01 --to 2026-10-31 --output october.csv',
    'causeway payments export | head',
  ]);
};
