import type { RefundEnd } from '../../purchases/refunds/refund-payment.ts';
import type { RefundPreview } from '../../purchases/refunds/refund-preview.ts';
import type { Answer } from '../command-context.ts';
import { beginCommand, goOnCommand, type RefundDesk, type RefundIntent } from './refund-context.ts';

/** What the command would do; `preview` is null where all that is left is to follow a signed transaction. */
export const previewAnswer = (
  intent: RefundIntent,
  preview: RefundPreview | null,
  desk: RefundDesk,
): Answer => {
  const { id, payment, amount, recipient, existing } = intent;
  const { network, asset } = payment;
  const what = `${desk.views.amountText({ network, asset, amount })} to ${recipient}`;
  const cost = preview?.cost ?? null;
  const opensAccount = preview?.opensAccount ?? false;
  return {
    json: {
      outcome: 'not_confirmed',
      refund: id,
      payment: payment.identity,
      amount_units: amount.toString(),
      recipient,
      sender: preview?.sender ?? existing?.sender ?? null,
      cost,
      opens_account: opensAccount,
    },
    text: [
      preview === null
        ? `This would see what became of the transaction that was signed for ${what}, and send it again if need be.`
        : `This would send ${what}, from ${preview.sender}.`,
      ...(cost === null ? [] : [`It costs at most ${cost}.`]),
      ...(opensAccount ? ['That includes a token account for the payer, who has none.'] : []),
    ].join(' '),
    remark: `Nothing was done. To do it: ${beginCommand(intent, desk)}`,
    exitCode: 2,
  };
};

const reasonTexts: Record<string, string> = {
  rpc_unavailable: 'the chain’s node gives no usable answer',
  fees_too_high: 'the fees are too high now',
  account_busy: 'others are sending from the same account',
  signing_too_slow: 'the node was too slow',
  not_owed: 'its payment is not settled any more; see "payments show"',
  not_landed: 'the chain does not have it yet',
  not_confirmed: 'the chain has not confirmed it yet',
  revert_not_final: 'it failed, in a block that is not final yet',
  failure_not_final: 'it failed, in a block that is not final yet',
  transfer_not_logged: 'its receipt shows no such transfer; look at the transaction',
  no_landmark:
    'another transaction took its place, and what a node does not know proves nothing here, as no transaction of the payment is known',
  history_too_short: 'the node is behind, or does not remember so far back; set the RPC of another one',
};

const finalityTexts: Record<string, string> = {
  deep_not_final: 'The node names no final blocks; there were 64 blocks or more on top of it.',
};

const openText = ({ reason, refusal, nonce }: Extract<RefundEnd, { outcome: 'open' }>): string =>
  [
    reasonTexts[reason] ?? reason,
    ...(refusal === null ? [] : [`the node says: ${JSON.stringify(refusal)}`]),
    ...(nonce === null ? [] : [`its nonce is ${nonce}`]),
  ].join('; ');

const endText = (end: RefundEnd, { views }: RefundDesk): string => {
  const { refund } = end;
  const what = `${views.amountText(refund)} to ${refund.recipient}`;
  switch (end.outcome) {
    case 'settled':
      return `Gave back ${what}. Transaction: ${refund.transaction}${
        refund.reason === null ? '' : `. ${finalityTexts[refund.reason] ?? refund.reason}`
      }`;
    case 'landed':
      return `Sent ${what}; it has landed, and is not final yet. Transaction: ${refund.transaction}`;
    case 'failed':
      return `It is proven that nothing was given back (${refund.reason ?? 'no reason'}). A new refund can be made.`;
    case 'open':
      return `Whether ${what} was given back is not known yet: ${openText(end)}.`;
    case 'postponed':
      return `Nothing was sent: ${reasonTexts[end.reason] ?? end.reason}.`;
  }
};

const remarkOf = (end: RefundEnd, desk: RefundDesk): { remark?: string } => {
  switch (end.outcome) {
    case 'settled':
    case 'failed':
      return {};
    case 'landed':
      return {
        remark:
          'Until it is final, "payments refunds --open" lists it, and a fork could still take it back. To confirm it ' +
          `later, repeat it, which never pays twice: ${goOnCommand(end.refund, desk)}`,
      };
    case 'open':
    case 'postponed':
      return { remark: `Repeat it, which never pays twice: ${goOnCommand(end.refund, desk)}` };
  }
};

/** What became of it. */
export const endAnswer = (end: RefundEnd, desk: RefundDesk): Answer => {
  return {
    json: {
      outcome: end.outcome,
      refund: desk.views.refundJson(end.refund),
      ...('reason' in end ? { reason: end.reason } : {}),
      ...(end.outcome === 'open' ? { refusal: end.refusal, nonce: end.nonce } : {}),
    },
    text: endText(end, desk),
    ...remarkOf(end, desk),
    exitCode: end.outcome === 'settled' || end.outcome === 'landed' ? 0 : 1,
  };
};
