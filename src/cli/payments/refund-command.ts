import type { Command } from 'commander';
import { findRefundPlace, type RefundPlace } from '../../purchases/refunds/refund-place.ts';
import { createRefunding } from '../../purchases/refunds/refund-payment.ts';
import {
  previewRefund,
  type RefundPreview,
  type RefundWallet,
} from '../../purchases/refunds/refund-preview.ts';
import type { Payment } from '../../store/store.ts';
import type { Answer, CommandContext, Session } from '../command-context.ts';
import { CommandError } from '../command-error.ts';
import { addExamples, exampleId } from '../examples.ts';
import { endAnswer, previewAnswer } from './refund-answers.ts';
import { beginCommand, openRefundDesk, type RefundDesk, type RefundIntent } from './refund-context.ts';
import { planRefund, readRefundIntent } from './refund-intent.ts';
import { describeObstacle, refundNotPossible } from './refund-refusals.ts';
import { readText, readUuid } from '../read-text.ts';

interface RefundOptions {
  amount?: string;
  note?: string;
  refundId?: string;
  unknown?: true;
  yes?: true;
}

type FoundPlace = Extract<RefundPlace, { outcome: 'found' }>;

/** Throws CommandError. */
const openPlace = async (payment: Payment, { x402, clock }: RefundDesk): Promise<FoundPlace> => {
  const place = await findRefundPlace(x402, payment, () => clock.now());
  if (place.outcome !== 'found') throw refundNotPossible(place.outcome, payment);
  return place;
};

/** Throws CommandError, which never shows the key. */
const openWallet = async ({ openWallet, keySetting, label }: FoundPlace): Promise<RefundWallet> => {
  const wallet = await openWallet().catch((error: unknown) => {
    const problem = error instanceof TypeError ? error.message : 'it cannot be used';
    throw new CommandError('invalid_setting', `${keySetting}: ${problem}`);
  });
  if (wallet === null)
    throw new CommandError(
      'invalid_setting',
      `${keySetting}: must be set (or ${keySetting}_FILE): the key of the wallet that refunds on ${label} are paid from`,
    );
  return wallet;
};

/** Whether it can be done, before anything is written down. Throws CommandError when it cannot. */
const preview = async (
  place: FoundPlace,
  { id, payment, recipient, amount }: RefundIntent,
  { views }: RefundDesk,
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
  const desk = await openRefundDesk(session);
  const intent = await readRefundIntent(given, options, desk);
  const { payment, existing } = intent;
  if (existing?.state === 'settled' || existing?.state === 'failed')
    return endAnswer({ outcome: existing.state, refund: existing }, desk);
  const place = await openPlace(payment, desk);
  // What is signed needs neither a key nor money any more.
  const previewed = existing?.state === 'sending' ? null : await preview(place, intent, desk);
  if (options.yes !== true) return previewAnswer(intent, previewed, desk);
  desk.tell(`If this ends half-way, repeat it: ${beginCommand(intent, desk)}`);
  const planned = existing ?? (await planRefund(intent, options.note ?? null, desk));
  const run = createRefunding({
    store: desk.store,
    clock: desk.clock,
    chain: place.opened.chain,
    openWallet: () => openWallet(place),
  });
  return endAnswer(await run(planned, payment, new AbortController().signal), desk);
};

/** Adds `payments refund`. */
export const addRefundCommand = (payments: Command, context: CommandContext): void => {
  const command = payments
    .command('refund')
    .summary('send a payment back to its payer, whole or in part')
    .description(
      'Sends tokens from the refund wallet to the payer of a settled payment, and writes it down. There is one transfer ' +
        'for one refund: repeated with the same --refund-id, the command finds out what became of it, and sends the ' +
        'same transaction again where that is needed. It is done when the chain shows the transfer; whether that is ' +
        'final, the same command tells later. All refunds of a payment never exceed its amount. Without --yes it only ' +
        'says what it would do.',
    )
    .argument('<payment>', 'its identity, its transaction, or the beginning of either')
    .option('--amount <tokens>', 'how much, such as 0.05 (default: all that is left)')
    .option('--note <text>', 'why, for the books; the payer never sees it', readText(500))
    .option('--refund-id <uuid>', 'your own id of the refund, or that of one to go on with', readUuid)
    .option(
      '--unknown',
      'also when the gateway cannot find out whether the payment happened, and you know it did',
    )
    .option('--yes', 'do it')
    .action((given: string, options: RefundOptions) =>
      context.run((session) => refund(session, given, options)),
    );
  addExamples(command, [
    'causeway payments refund 0x5f3c9a1e',
    'causeway payments refund 0x5f3c9a1e --amount 0.05 --note "Half of the profiles were gone" --yes',
    `causeway payments refund 0x5f3c9a1e --refund-id ${exampleId} --yes`,
  ]);
};
