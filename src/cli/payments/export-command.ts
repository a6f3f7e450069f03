import { z } from 'zod';
import { isoOrNull } from '../../kit/clock.ts';
import { dayFields, toDays, type Days } from '../../operator/fields.ts';
import { openTokenTexts } from '../../operator/payments/payment-view.ts';
import { maxRefunds } from '../../payments/records/find-payments.ts';
import type { TokenTexts } from '../../payments/records/token-amount.ts';
import type { Payment, Store } from '../../store/store.ts';
import { csvLine, exportRows } from '../export-rows.ts';
import { toCommand } from '../form-command.ts';
import type { Write } from '../write-new-file.ts';
import { amountOf } from '../../rules/payments.ts';

const pageSize = 100;

interface Source {
  store: Store;
  tokens: TokenTexts;
}

const columns =
  'settled_at,network,asset,amount,payer,pay_to,transaction,state,refunded,refund_transactions,payment';

/** Formats the `columns`. An amount is a decimal of the token, or whole smallest units of an unknown token. */
const toLine = async (payment: Payment, { store, tokens }: Source): Promise<string> => {
  const refunds = await store.listRefunds({ payment: payment.identity, limit: maxRefunds });
  const settled = refunds.filter(({ state }) => state === 'settled');
  const toAmount = (amount: bigint): string =>
    tokens.tokenAmount({ ...payment, amount }) ?? amount.toString();
  return csvLine([
    isoOrNull(payment.settledAt) ?? '',
    payment.network,
    payment.asset,
    toAmount(amountOf(payment)),
    payment.payer ?? '',
    payment.payTo,
    payment.transaction ?? '',
    payment.state,
    toAmount(settled.reduce((sum, { amount }) => sum + amount, 0n)),
    settled.map(({ transaction }) => transaction ?? '').join(' '),
    payment.identity,
  ]);
};

/** Writes page by page, so that memory does not grow with the number of payments. Resolves with that number. */
const writeRows = async (source: Source, days: Days, write: Write): Promise<number> => {
  await write(csvLine(columns.split(',')));
  let count = 0;
  let after: { settledAt: number; identity: string } | null = null;
  for (;;) {
    const page: Payment[] = await source.store.listSettledPayments({ ...days, after, limit: pageSize });
    const lines = await Promise.all(page.map((payment) => toLine(payment, source)));
    if (lines.length > 0) await write(lines.join(''));
    count += page.length;
    const last = page.at(-1);
    if (last === undefined || last.settledAt === null || page.length < pageSize) return count;
    after = { settledAt: last.settledAt, identity: last.identity };
  }
};

export const exportCommand = toCommand({
  usage: 'payments export [--from <day>] [--to <day>] [--output <file>]',
  title: 'Write settled payments as CSV',
  description:
    'Writes the payments that were settled in these days as CSV, oldest first, each with its settled refunds. A field ' +
    'that a spreadsheet would take for a formula begins with an apostrophe. Without --output, the lines go to stdout.',
  fields: {
    ...dayFields,
    output: z.string().optional().describe('Write to this new file, which only you can read.'),
  },
  example: { from: '2026-10-01', to: '2026-10-31', output: 'october.csv' },
  examples: ['| head'],
  run: async (session, { from, to, output }) => {
    const services = await session.openStore();
    const days = toDays(z.object(dayFields).parse({ from, to }), services.clock.now());
    const source = { store: services.store, tokens: await openTokenTexts(services) };
    return exportRows('payments', output, session, {
      writeRows: (write) => writeRows(source, days, write),
      describe: (count) => `${count} payments.`,
    });
  },
});
