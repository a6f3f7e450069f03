import { AppError } from '../../kit/errors.ts';
import { newId } from '../../kit/ids.ts';
import type { Nano } from '../../kit/money.ts';
import { repeat } from '../../kit/repeat.ts';
import { monthStart } from '../../rules/key-limits.ts';
import type { CardSettings } from './card-settings.ts';
import { followCardEvents, takeCardEvent } from './follow-card-events.ts';
import { readNoPayment } from './read-stripe-payment.ts';
import { isRefused } from './saved-card-calls.ts';
import { createStripeClient, type StripeAddress } from './stripe-client.ts';
import { updateCardPayment, type CardContext } from './update-card-payment.ts';

export interface CardsOptions extends Omit<CardContext, 'stripe'> {
  address?: StripeAddress | undefined;
}

export interface CardOrder {
  accountId: string;
  isSandbox: boolean;
  amount: Nano;
  /** Where Stripe sends the person afterwards. */
  returnUrl: string;
  /** True: saves the card for the automatic top-up of the account. */
  savesCard: boolean;
}

export type Cards = ReturnType<typeof createCards>;

const everyMs = 60_000;
const accountsAtOnce = 100;
const sweptAtOnce = 1_000;
/** A page ends after a day. */
const askAboutPageMs = 25 * 3_600_000;
/** Longer than an attempt takes. */
const askAboutAttemptMs = 60_000;
/** An open payment that Stripe does not know is given up after this time. A page of Stripe ends after a day. */
const askedForMs = 30 * 86_400_000;
const askedAtOnce = 20;
const maxRounds = 50;
/** The least time between two charges of a saved card. */
const attemptsApartMs = 10 * 60_000;

/** Sells top-ups by Stripe Checkout, and by charging saved cards. */
export const createCards = (options: CardsOptions) => {
  const { settings, log } = options;
  const context: CardContext = {
    ...options,
    stripe: createStripeClient(settings.secretKey, options.address),
  };
  return {
    /** Throws AppError `permission_denied` where real money would buy sandbox credit, or test money real credit. */
    assertSells: (isSandbox: boolean): void => assertSells(isSandbox, settings),
    /** Whether cards raise the balance of such an account. */
    sells: (isSandbox: boolean): boolean => sells(isSandbox, settings),
    /** Returns our id of the payment, and the page of Stripe where a person pays. Throws AppError. */
    checkout: (order: CardOrder) => openCheckout(order, context),
    /** Ends the automatic top-up of an account, and lets Stripe forget its card. */
    endAutoTopUp: (accountId: string) => endAutoTopUp(accountId, context),
    /** Takes an event in the bytes that Stripe has signed. Throws AppError `invalid_value` for those of others. */
    takeEvent: async (body: Buffer, signature: string): Promise<void> => {
      const { stripe } = context;
      const event = await stripe
        .readEvent(body, signature, settings.webhookSecret)
        .catch((cause: unknown) => {
          throw new AppError(
            'invalid_value',
            'The signature is missing, wrong or old. Only Stripe sends events, signed by STRIPE_WEBHOOK_SECRET.',
            { cause },
          );
        });
      if (stripe.isAboutPayments(event)) await takeCardEvent(event, context);
    },
    /**
     * Tops up low balances, reads the events that did not arrive, asks about open payments, and takes what accounts
     * owe, again and again.
     */
    begin: async (signal: AbortSignal): Promise<void> => {
      const works = {
        'following the payments by card, and topping up by saved cards': followAndTopUp,
        'asking about open payments by card': askAboutOpen,
        'keeping the payments by card': keepPayments,
      };
      const begun = Object.entries(works).map(([what, work]) =>
        repeat({ what, intervalMs: everyMs, signal, log, work: () => work(context, signal) }),
      );
      await Promise.all(begun);
    },
  };
};

const sells = (isSandbox: boolean, { isLive }: CardSettings): boolean => isLive !== isSandbox;

const assertSells = (isSandbox: boolean, settings: CardSettings): void => {
  if (!sells(isSandbox, settings))
    throw new AppError(
      'permission_denied',
      settings.isLive
        ? 'This account has sandbox credit, which is not sold. Use an account for real money.'
        : 'Only test cards are taken here, and they pay sandbox credit. Use a sandbox account.',
    );
};

const openCheckout = async (
  { accountId, isSandbox, amount, returnUrl, savesCard }: CardOrder,
  { settings, store, clock, stripe, goods }: CardContext,
): Promise<{ id: string; url: string }> => {
  assertSells(isSandbox, settings);
  const id = newId();
  const now = clock.now();
  const customer = savesCard ? ((await store.getAutoTopUp(accountId))?.customer ?? null) : null;
  const kind = savesCard ? 'saving' : 'checkout';
  const { isLive } = settings;
  await store.addCardPayment({
    id,
    accountId,
    kind,
    amount,
    isLive,
    customer,
    askAt: now + askAboutPageMs,
    now,
  });
  const order = { id, amount, goods, returnUrl };
  const saving = savesCard ? { customer } : undefined;
  const session = await stripe
    .openSession({ ...order, saving })
    .catch((error: unknown) => {
      if (customer === null || !isRefused(error)) throw error;
      // Stripe does not have this customer any more.
      return stripe.openSession({ ...order, saving: { customer: null } });
    })
    .catch((cause: unknown) => {
      throw new AppError(
        'upstream_error',
        'The card service did not answer as it should. Nothing was charged. Try again.',
        { cause },
      );
    });
  if (session.url === null) throw new Error(`the session of card payment ${id} has no address`);
  await store.noteCardSession({ id, session: session.id });
  return { id, url: session.url };
};

/** The account's own wish holds at once. That Stripe does not answer changes nothing of it. */
const endAutoTopUp = async (accountId: string, { store, stripe, log }: CardContext): Promise<void> => {
  const before = await store.getAutoTopUp(accountId);
  await store.endAutoTopUp(accountId);
  if (before?.paymentMethod)
    await stripe
      .forgetCard(before.paymentMethod)
      .catch((error: unknown) =>
        log.warn(
          { err: error, accountId, paymentMethod: before.paymentMethod },
          'Stripe has not forgotten a saved card',
        ),
      );
};

/** Asks about the payments of which no event came, so that none is forgotten that was paid. */
const askAboutOpen = async (context: CardContext, signal: AbortSignal): Promise<void> => {
  const { store, clock, settings, log } = context;
  for (let round = 0; round < maxRounds; round += 1) {
    const due = { isLive: settings.isLive, now: clock.now(), limit: askedAtOnce };
    const open = await store.takeOpenCardPayments(due);
    let failure: unknown;
    for (const payment of open)
      await updateCardPayment({ id: payment.id }, context, signal).catch(async (error: unknown) => {
        if (!isRefused(error)) {
          // The others are asked about first: their next turn comes much later.
          failure = error;
          return;
        }
        log.error({ err: error, cardPayment: payment.id }, 'Stripe does not know an open card payment');
        const isOver = due.now - payment.createdAt > askedForMs;
        if (isOver)
          await store.changeCardPayment({ ...payment, ...readNoPayment(payment, true), now: due.now });
      });
    if (failure !== undefined) throw failure;
    if (open.length < askedAtOnce) return;
  }
};

/** What was paid or refunded meanwhile, as in an outage, is known before a card is charged. */
const followAndTopUp = async (context: CardContext, signal: AbortSignal): Promise<void> => {
  await followCardEvents(context, signal);
  await topUpLowBalances(context, signal);
};

/** Charges the saved cards of accounts with a low balance. The row of an attempt comes before the charge. */
const topUpLowBalances = async (context: CardContext, signal: AbortSignal): Promise<void> => {
  const { store, clock, settings } = context;
  const dueAt = (now: number) => ({
    isLive: settings.isLive,
    lastBefore: now - attemptsApartMs,
    monthStart: monthStart(now),
  });
  for (const accountId of await store.listLowAutoTopUps({ ...dueAt(clock.now()), limit: accountsAtOnce })) {
    const now = clock.now();
    const attempt = { id: newId(), accountId, askAt: now + askAboutAttemptMs, now };
    const opened = await store.openAutoTopUp({ ...dueAt(now), ...attempt });
    if (opened !== null) await updateCardPayment({ id: opened.id, isUnsent: true }, context, signal);
  }
};

const keepPayments = async ({ store, clock }: CardContext): Promise<void> => {
  const now = clock.now();
  await store.sweepCardPayments({ now, limit: sweptAtOnce });
  for (const accountId of await store.listCardDebtors(accountsAtOnce))
    await store.takeCardDebts({ accountId, now });
};
