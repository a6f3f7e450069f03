import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import { formatUsd } from '../../kit/money.ts';
import { monthStart } from '../../rules/key-limits.ts';
import type { CardPayment, Store } from '../../store/store.ts';
import type { CardSettings } from './card-settings.ts';
import { readNoPayment, readStripePayment, type ToldPayment } from './read-stripe-payment.ts';
import type { StripeClient } from './stripe-client.ts';

export interface CardContext {
  settings: CardSettings;
  store: Store;
  stripe: StripeClient;
  clock: Clock;
  log: Log;
  /** Names the goods on Stripe's page. */
  goods: string;
}

/** A payment, and where Stripe has it, which its row may not know yet. */
export interface AskedPayment {
  id: string;
  session?: string;
  intent?: string;
  /** True: its row was just written, so Stripe cannot have it. */
  isUnsent?: true;
}

/**
 * For so long an attempt that Stripe does not have is sent again. Stripe knows its key for a day, and so carries it out
 * once. What Stripe does not have later did not happen.
 */
const sendWithinMs = 15 * 60_000;
const maxReads = 10;

/**
 * Asks Stripe what has become of a payment, and writes that down. An event is only the reason to ask, so that none is taken
 * twice, and a late one undoes nothing. An attempt that Stripe does not have yet is sent.
 */
export const updateCardPayment = async (
  asked: AskedPayment,
  context: CardContext,
  signal?: AbortSignal,
): Promise<void> => {
  const { store, clock, log } = context;
  let known = asked;
  for (let reads = 0; reads < maxReads; reads += 1) {
    const payment = await store.getCardPayment(asked.id);
    // Another gateway may use the same account at Stripe.
    if (payment === null) return;
    const ask = payment.kind === 'automatic' ? askForAttempt : askForPage;
    const told = await ask(payment, { ...context, known, signal });
    const changed = await store.changeCardPayment({ ...payment, ...told, now: clock.now() });
    if (changed !== null) return logChange(payment, changed, log);
    if (told.paymentIntent !== null) known = { ...known, intent: told.paymentIntent };
  }
  throw new Error(`card payment ${asked.id} changes faster than it can be read`);
};

interface Asking extends CardContext {
  known: AskedPayment;
  signal: AbortSignal | undefined;
}

const isOver = ({ createdAt }: CardPayment, { clock }: Asking): boolean =>
  clock.now() - createdAt >= sendWithinMs;

const askForPage = async (payment: CardPayment, asking: Asking): Promise<ToldPayment> => {
  const session = payment.session ?? asking.known.session;
  // Nobody has got the address of a page that was not noted.
  if (session === undefined) return readNoPayment(payment, isOver(payment, asking));
  return readStripePayment(payment, await asking.stripe.readSession(session, asking.signal));
};

const askForAttempt = async (payment: CardPayment, asking: Asking): Promise<ToldPayment> => {
  const { stripe, goods, known, signal } = asking;
  const { id, amount, customer, paymentMethod, createdAt } = payment;
  if (customer === null || paymentMethod === null) throw new Error(`card payment ${id} names no card`);
  const intent = payment.paymentIntent ?? known.intent ?? null;
  const found =
    intent === null && known.isUnsent !== true ? await stripe.findIntent({ id, customer }, signal) : intent;
  if (found !== null) return readStripePayment(payment, await stripe.readIntent(found, signal));
  const attempt = { id, monthStart: monthStart(createdAt) };
  if (isOver(payment, asking) || !(await asking.store.isAutoTopUpWanted(attempt)))
    return readNoPayment(payment, isOver(payment, asking));
  const sent = await stripe.charge({ id, amount, goods, customer, paymentMethod }, signal);
  if (sent !== null) return readStripePayment(payment, await stripe.readIntent(sent, signal));
  return { ...readNoPayment(payment, true), state: 'failed', failedFor: 'payment_failed' };
};

const logChange = (before: CardPayment, after: CardPayment, log: Log): void => {
  const { id, accountId, state, kept, credited } = after;
  if (before.state === state && before.kept === kept) return;
  const facts = { cardPayment: id, accountId, keptUsd: formatUsd(kept), owedUsd: formatUsd(credited - kept) };
  if (state === 'mismatch')
    log.error(facts, 'a card payment is not what was asked for, and was not credited: see it at Stripe');
  else log.info(facts, `a card payment is ${state}`);
};
