import { Argument, Option } from 'commander';
import { createRefunding, type RefundEnd } from '../../purchases/refunds/refund-payment.ts';
import { findRefundPlace, type RefundPlace } from '../../purchases/refunds/refund-place.ts';
import {
  previewRefund,
  type RefundPreview,
  type RefundWallet,
} from '../../purchases/refunds/refund-preview.ts';
import type { Answer, Session } from '../command-context.ts';
import type { CommandDefinition } from '../command-definition.ts';
import { CommandError } from '../command-error.ts';
import { exampleId } from '../examples.ts';
import { readText, readUuid } from '../read-arguments.ts';
import {
  describeObstacle,
  openRefundContext,
  refundNotPossible,
  repeatCommand,
  type RefundContext,
  type RefundIntent,
} from './refund-context.ts';
import { planRefund, readRefundIntent } from './refund-intent.ts';

interface RefundOptions {
  amount?: string;
  note?: string;
  refundId?: string;
  unknown?: true;
  yes?: true;
}

type FoundPlace = Extract<RefundPlace, { outcome: 'found' }>;

/** Throws CommandError, which never shows the key. */
const openWallet = async ({ openWallet, keySetting, label }: FoundPlace): Promise<RefundWallet> => {
  const wallet = await openWallet().catch((error: unknown) => {
    const problem = error instanceof TypeError ? error.message : 'it cannot be used';
    throw new CommandError('invalid_setting', `${keySetting}: ${problem}`);
  });
  if (wallet === null)
    throw new CommandError(
      'invalid_setting',
      `${keySetting}: must be set (or ${keySetting}_FILE): the key of the wallet that pays refunds on ${label}`,
    );
  return wallet;
};

/** Checks the transfer before anything is stored. Throws CommandError if it is not possible. */
const preview = async (
  place: FoundPlace,
  { id, payment, recipient, amount }: RefundIntent,
  { views }: RefundContext,
): Promise<RefundPreview> => {
  const wallet = await openWallet(place);
  const found = await previewRefund(wallet, { id, asset: payment.asset, recipient, amount });
  if (found === null)
    throw new CommandError(
      'chain_unavailable',
      `The node of ${place.label} gives no usable answer. Nothing was done; try again.`,
    );
  if (found.obstacle !== null)
    throw new CommandError(
      'refund_not_possible',
      describeObstacle(found.obstacle, { payment, sender: found.sender, coin: wallet.coin, views }),
    );
  return found;
};

const refund = async (session: Session, given: string, options: RefundOptions): Promise<Answer> => {
  const context = await openRefundContext(session);
  const { store, clock, x402 } = context;
  const intent = await readRefundIntent(given, options, context);
  const { payment, existing } = intent;
  if (existing?.state === 'settled' || existing?.state === 'failed')
    return endAnswer({ outcome: existing.state, refund: existing }, context);
  const place = await findRefundPlace(x402, payment, () => clock.now());
  if (place.outcome !== 'found') throw refundNotPossible(place.outcome, payment);
  // A signed transaction needs neither key nor money any more.
  const previewed = existing?.state === 'sending' ? null : await preview(place, intent, context);
  const { identity, network, asset } = payment;
  const command = repeatCommand({ ...intent, payment: identity, network, asset }, context);
  if (options.yes !== true) return previewAnswer(intent, { preview: previewed, command, context });
  context.tell(`If this is interrupted, repeat it: ${command}`);
  const planned = existing ?? (await planRefund(intent, options.note ?? null, context));
  const run = createRefunding({
    store,
    clock,
    chain: place.opened.chain,
    openWallet: () => openWallet(place),
  });
  return endAnswer(await run(planned, payment, new AbortController().signal), context);
};

/** Tells what the command would do. `preview` is null if only a signed transaction is left to follow. */
const previewAnswer = (
  { id, payment, amount, recipient, existing }: RefundIntent,
  { preview, command, context }: { preview: RefundPreview | null; command: string; context: RefundContext },
): Answer => {
  const transfer = `${context.views.amountText({ ...payment, amount })} to ${recipient}`;
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
        ? `This would look for the signed transaction of ${transfer}, and send it again if needed.`
        : `This would send ${transfer}, from ${preview.sender}.`,
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

const openText = ({ reason, refusal, nonce }: Extract<RefundEnd, { outcome: 'open' }>): string =>
  [
    reasonTexts[reason] ?? reason,
    ...(refusal === null ? [] : [`the node says: ${JSON.stringify(refusal)}`]),
    ...(nonce === null ? [] : [`its nonce is ${nonce}`]),
  ].join('; ');

const endText = (end: RefundEnd, { views }: RefundContext): string => {
  const { refund } = end;
  const { reason, transaction } = refund;
  const transfer = `${views.amountText(refund)} to ${refund.recipient}`;
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
      return `Nothing was sent: ${reasonTexts[end.reason] ?? end.reason}.`;
  }
};

const endAnswer = (end: RefundEnd, context: RefundContext): Answer => {
  const { outcome, refund } = end;
  const isEnded = outcome === 'settled' || outcome === 'failed';
  const landed = 'Until it is final, "payments refunds --open" lists it, and a fork could still undo it. ';
  return {
    json: {
      outcome,
      refund: context.views.refundJson(refund),
      ...('reason' in end ? { reason: end.reason } : {}),
      ...(outcome === 'open' ? { refusal: end.refusal, nonce: end.nonce } : {}),
    },
    text: endText(end, context),
    remark: isEnded
      ? undefined
      : `${outcome === 'landed' ? landed : ''}Repeat it, which never pays twice: ${repeatCommand(refund, context)}`,
    exitCode: outcome === 'settled' || outcome === 'landed' ? 0 : 1,
  };
};

export const refundCommand: CommandDefinition<[string, RefundOptions]> = {
  name: 'refund',
  summary: 'refund a payment to its payer, whole or in part',
  description:
    'Sends tokens from the refund wallet to the payer of a settled payment, and records it. Each refund is one ' +
    'transfer: repeated with the same --refund-id, the command looks for that transfer, and sends the same transaction ' +
    'again if needed. It is done when the chain has the transfer; repeat it later to learn whether the transfer is ' +
    'final. The refunds of a payment never exceed its amount. Without --yes it only tells what it would do.',
  examples: [
    'causeway payments refund 0x5f3c9a1e',
    'causeway payments refund 0x5f3c9a1e --amount 0.05 --note "Half of the profiles were gone" --yes',
    `causeway payments refund 0x5f3c9a1e --refund-id ${exampleId} --yes`,
  ],
  arguments: [new Argument('<payment>', 'its identity, its transaction, or the beginning of either')],
  options: [
    new Option('--amount <tokens>', 'the amount, such as 0.05 (default: all that is left)'),
    new Option('--note <text>', 'the reason, for the books; the payer never sees it').argParser(
      readText(500),
    ),
    new Option('--refund-id <uuid>', 'your own id of the refund, or the id of one to continue').argParser(
      readUuid,
    ),
    new Option(
      '--unknown',
      'also if the gateway does not know whether the payment happened, and you know it did',
    ),
    new Option('--yes', 'do it'),
  ],
  run: refund,
};
