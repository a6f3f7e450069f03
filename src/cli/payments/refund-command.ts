import { z } from 'zod';
import { amountTextOf, openTokenTexts } from '../../operator/payments/payment-view.ts';
import {
  previewRefund,
  sendRefund,
  type RefundEndView,
  type RefundPreviewView,
} from '../../operator/payments/refunds.ts';
import { requirePayment } from '../../payments/records/find-payments.ts';
import type { TokenTexts } from '../../payments/records/token-amount.ts';
import type { Answer } from '../command.ts';
import { toCommand } from '../form-command.ts';

/** Tells what the command would do. */
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
