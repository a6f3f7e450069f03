import type { RefundEnd } from '../purchases/refund-payment.ts';
import type { RefundPreview } from '../purchases/refund-preview.ts';
import type { Answer } from './command-context.ts';
import { goOnCommand, type RefundDesk, type RefundIntent } from './payment-refund-desk.ts';

/** What the command would do; `preview` is null where all that is left is to follow a signed transaction. */
export const previewAnswer = (
  { id, payment, amount, recipient, existing }: RefundIntent,
  preview: RefundPreview | null,
  desk: RefundDesk,
): Answer => {
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
    remark: `Nothing was done. To do it: ${goOnCommand({ id, payment: payment.identity, network, asset, amount }, desk)}`,
    exitCode: 2,
  };
};

const reasonTexts: Record<string, string> = {
  rpc_unavailable: 'the chain’s node gives no usable answer',
  fees_too_high: 'the fees are too high now',
  account_busy: 'others are sending from the same account',
  signing_too_slow: 'the node was too slow',
  not_landed: 'the chain does not have it yet',
  not_confirmed: 'the chain has not confirmed it yet',
  revert_not_final: 'it failed, in a block that is not final yet',
  failure_not_final: 'it failed, in a block that is not final yet',
  transfer_not_logged: 'its receipt shows no such transfer; look at the transaction',
  history_too_short: 'the node is behind, or does not remember so far back; set the RPC of another one',
};

const endText = (end: RefundEnd, { views }: RefundDesk): string => {
  const { refund } = end;
  const what = `${views.amountText(refund)} to ${refund.recipient}`;
  switch (end.outcome) {
    case 'settled':
      return `Gave back ${what}. Transaction: ${refund.transaction}`;
    case 'failed':
      return `It is proven that nothing was given back (${refund.reason ?? 'no reason'}). A new refund can be made.`;
    case 'open':
      return `Whether ${what} was given back is not known yet: ${reasonTexts[end.reason] ?? end.reason}.`;
    case 'postponed':
      return `Nothing was sent: ${reasonTexts[end.reason] ?? end.reason}.`;
  }
};

/** What became of it. */
export const endAnswer = (end: RefundEnd, desk: RefundDesk): Answer => {
  const isOver = end.outcome === 'settled' || end.outcome === 'failed';
  return {
    json: {
      outcome: end.outcome,
      refund: desk.views.refundJson(end.refund),
      ...('reason' in end ? { reason: end.reason } : {}),
    },
    text: endText(end, desk),
    ...(isOver ? {} : { remark: `Repeat it, which never pays twice: ${goOnCommand(end.refund, desk)}` }),
    exitCode: end.outcome === 'settled' ? 0 : 1,
  };
};
