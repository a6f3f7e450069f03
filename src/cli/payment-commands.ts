import { z } from 'zod';
import { dayFields, toDays, type Days } from '../operator/fields.ts';
import {
  openTokenTexts,
  paymentField,
  paymentView,
  amountTextOf,
} from '../operator/payments/payment-view.ts';
import { reconcilePayment, reconcilePayments } from '../operator/payments/reconcile.ts';
import {
  previewRefund,
  sendRefund,
  type RefundEndView,
  type RefundPreviewView,
} from '../operator/payments/refunds.ts';
import { formatTable } from '../operator/format-table.ts';
import { networkFamilies } from '../payments/chains/networks.ts';
import { maxRefunds, requirePayment } from '../payments/records/find-payments.ts';
import type { TokenTexts } from '../payments/records/token-amount.ts';
import { isOpenPayment } from '../payments/sale/reconcile-payments.ts';
import type { Payment, Store } from '../store/store.ts';
import { CommandError } from './command-error.ts';
import type { Answer, StoreSession } from './command.ts';
import { csvLine } from '../kit/csv.ts';
import { exportRows } from './export-rows.ts';
import { toCommand } from './form-command.ts';
import type { Write } from './write-new-file.ts';

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
  const sum = settled.reduce((before, { amount }) => before + amount, 0n);
  const shown = paymentView.show(payment, tokens);
  const row: Readonly<Record<string, string | null>> = {
    ...shown,
    amount: shown.amount ?? shown.amount_units,
    refunded: tokens.tokenAmount({ ...payment, amount: sum }) ?? sum.toString(),
    refund_transactions: settled.map(({ transaction }) => transaction ?? '').join(' '),
  };
  return csvLine(columns.split(',').map((name) => row[name] ?? ''));
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

const checkAll = async ({ operate, config }: StoreSession, limit?: number): Promise<Answer> => {
  const checked = await operate(reconcilePayments, { limit });
  const { examined, resolved, left, in_progress: inProgress, not_configured: notConfigured } = checked;
  const openRefunds = checked.refunds.filter(({ outcome }) => outcome === 'open' || outcome === 'landed');
  const isOpen = left > 0 || openRefunds.some(({ outcome }) => outcome === 'open');
  const rows = [
    ...checked.open,
    ...openRefunds.map(({ refund, outcome, reason }) => ({
      payment: `refund ${refund}`,
      state: outcome,
      reason,
    })),
  ];
  const withoutNode = (await config()).x402.networks.filter(({ facilitator }) => facilitator.rpcUrl === null);
  const counts = Object.entries(notConfigured).map(([network, count]) => `${count} on ${network}`);
  const lines = (...texts: (string | false)[]): string => texts.filter((text) => text !== false).join('\n');
  return {
    json: checked,
    text: lines(
      `Checked ${examined} payments: ${resolved} have ended, and ${left} are still open.`,
      checked.refunds.length > 0 &&
        `Checked ${checked.refunds.length} refunds: ${checked.refunds.length - openRefunds.length} have ended, and ${openRefunds.length} are still open.`,
      rows.length > 0 && formatTable('payment=PAYMENT_OR_REFUND state reason', rows),
    ),
    remark:
      lines(
        inProgress > 0 && `The gateway works on ${inProgress} more payments, which were left alone.`,
        counts.length > 0 &&
          `Left alone, as X402_NETWORKS does not name their networks: ${counts.join(', ')}.`,
        isOpen &&
          withoutNode.length > 0 &&
          `No RPC is configured for ${withoutNode.map(({ network }) => network).join(', ')}, so public nodes were asked: ` +
            `set ${networkFamilies.map(({ settingPrefix }) => `${settingPrefix}_RPC_URL`).join(' or ')}, or rpc_url in causeway.yaml.`,
        isOpen && 'To see what can be done: causeway payments show PAYMENT',
      ) || undefined,
    exitCode: isOpen ? 1 : 0,
  };
};

const checkOne = async (
  { operate }: StoreSession,
  payment: string,
  transaction?: string,
): Promise<Answer> => {
  const checked = await operate(reconcilePayment, { payment, transaction });
  const { state, reason } = checked;
  return {
    json: checked,
    text: `The payment is ${state}${reason === null ? '' : ` (${reason})`}.`,
    exitCode: isOpenPayment(checked) ? 1 : 0,
  };
};

export const reconcileCommand = toCommand({
  usage: 'payments reconcile [payment] [--transaction <id>] [--limit <count>]',
  title: reconcilePayments.title,
  description: reconcilePayments.description,
  more:
    'With a payment, only this one is checked. The gateway does the same by itself from time to time, and may run ' +
    'meanwhile. The command reads the settings of the gateway, its keys included. The exit code is 1 if a checked payment ' +
    'or refund is still open.',
  fields: { ...reconcilePayments.fields, ...reconcilePayment.fields, payment: paymentField.optional() },
  examples: ['0x5f3c9a1e --transaction 0x0d2e...77', '--json | jq .left'],
  run: async ({ openStore }, { payment, transaction, limit }) => {
    const session = await openStore();
    if (payment !== undefined) return checkOne(session, payment, transaction);
    if (transaction !== undefined)
      throw new CommandError('invalid_usage', '--transaction needs a payment: name it first.');
    return checkAll(session, limit);
  },
});

const previewAnswer = (
  preview: RefundPreviewView,
  { transfer, isSigned, command }: { transfer: string; isSigned: boolean; command: string },
): Answer => {
  const { recipient, sender, cost, opens_account: opensAccount } = preview;
  return {
    json: preview,
    text: [
      isSigned
        ? `This would look for the signed transaction of ${transfer} to ${recipient}, and send it again if needed.`
        : `This would send ${transfer} to ${recipient}, from ${sender}.`,
      ...(cost === null ? [] : [`It costs at most ${cost}.`]),
      ...(opensAccount ? ['That includes a token account for the payer, who has none.'] : []),
    ].join(' '),
    remark: `Nothing was done. To do it: ${command}`,
    exitCode: 2,
  };
};

const reasonTexts: Record<string, string> = {
  rpc_unavailable: 'the node of the chain gives no usable answer',
  fees_too_high: 'the fees are too high now',
  account_busy: 'other processes are sending from the same account',
  signing_too_slow: 'the node was too slow',
  not_owed: 'its payment is not settled any more; see "payments show"',
  not_landed: 'the chain does not have it yet',
  not_confirmed: 'the chain has not confirmed it yet',
  revert_not_final: 'it failed, in a block that is not final yet',
  failure_not_final: 'it failed, in a block that is not final yet',
  receipt_not_shown: 'it is in a block, and the node does not show its receipt yet',
  status_not_shown: 'it has landed, and the node does not show its status yet',
  node_is_behind: 'the node is behind the chain; set the RPC of another one',
  transfer_not_logged: 'its receipt shows no such transfer; look at the transaction',
  no_landmark:
    'another transaction took its place, and the node cannot prove that this one is lost, as no transaction of the payment is known',
  history_too_short: 'the node is behind, or its history is too short; set the RPC of another one',
};

const finalityTexts: Record<string, string> = {
  deep_not_final: 'The node names no final blocks; there were 64 blocks or more on top of it.',
};

const openText = ({ reason = '', refusal, nonce }: RefundEndView): string =>
  [
    reasonTexts[reason] ?? reason,
    ...(typeof refusal === 'string' ? [`the node says: ${JSON.stringify(refusal)}`] : []),
    ...(typeof nonce === 'number' ? [`its nonce is ${nonce}`] : []),
  ].join('; ');

const endText = (end: RefundEndView, tokens: TokenTexts): string => {
  const { refund, reason: why = '' } = end;
  const { reason, transaction } = refund;
  const transfer = `${amountTextOf(refund, tokens)} to ${refund.recipient}`;
  switch (end.outcome) {
    case 'settled':
      return `Refunded ${transfer}. Transaction: ${transaction}${reason === null ? '' : `. ${finalityTexts[reason] ?? reason}`}`;
    case 'landed':
      return `Sent ${transfer}; it has landed, and is not final yet. Transaction: ${transaction}`;
    case 'failed':
      return `It is proven that nothing was refunded (${reason ?? 'no reason'}). You can make a new refund.`;
    case 'open':
      return `It is not known yet whether ${transfer} was sent: ${openText(end)}.`;
    case 'postponed':
      return `Nothing was sent: ${reasonTexts[why] ?? why}.`;
  }
};

const endAnswer = (
  end: RefundEndView,
  { tokens, command }: { tokens: TokenTexts; command: string },
): Answer => {
  const { outcome } = end;
  const isEnded = outcome === 'settled' || outcome === 'failed';
  const landed = 'Until it is final, "payments refunds --open" lists it, and a fork could still undo it. ';
  return {
    json: end,
    text: endText(end, tokens),
    remark: isEnded
      ? undefined
      : `${outcome === 'landed' ? landed : ''}Repeat it, which never pays twice: ${command}`,
    exitCode: outcome === 'settled' || outcome === 'landed' ? 0 : 1,
  };
};

const { accept_unknown: unknown, ...sent } = sendRefund.fields;

export const refundCommand = toCommand({
  usage:
    'payments refund <payment> [--amount <tokens>] [--note <text>] [--refund-id <uuid>] [--unknown] [--yes]',
  title: sendRefund.title,
  description: sendRefund.description,
  more: 'Repeat it later to learn whether the transfer is final. Without --yes it only tells what it would do.',
  fields: { ...sent, unknown, yes: z.boolean().default(false).describe('Do it.') },
  example: { payment: '0x5f3c9a1e' },
  examples: ['0x5f3c9a1e --amount 0.05 --note "Half of the profiles were gone" --yes'],
  run: async (session, { payment: given, refund_id: refundId, amount, note, unknown = false, yes }) => {
    const services = await session.openStore();
    const { operate, store } = services;
    const wanted = { payment: given, refund_id: refundId, amount, accept_unknown: unknown };
    const preview = await operate(previewRefund, wanted);
    const tokens = await openTokenTexts(services);
    if (preview.outcome !== 'not_confirmed') return endAnswer(preview, { tokens, command: '' });
    const { identity, network, asset } = await requirePayment(store, given);
    const existing = await store.getRefund(refundId);
    const found = { network, asset, amount: BigInt(preview.amount_units) };
    // The command that continues the refund names its amount, so that it means the same later.
    const exact = tokens.tokenAmount(found);
    const options = [
      ...(exact === null ? [] : ['--amount', exact]),
      ...['--refund-id', refundId],
      ...((existing?.acceptsUnknown ?? unknown) ? ['--unknown'] : []),
    ];
    const command = `causeway payments refund ${identity} ${options.join(' ')} --yes`;
    if (yes !== true) {
      const isSigned = existing?.state === 'sending';
      return previewAnswer(preview, { transfer: tokens.amountText(found), isSigned, command });
    }
    session.tell(`If this is interrupted, repeat it: ${command}`);
    const end = await operate(sendRefund, { ...wanted, amount: exact ?? amount, note });
    return endAnswer(end, { tokens, command });
  },
});
