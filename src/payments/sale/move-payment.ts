import { randomUUID } from 'node:crypto';
import type { Clock } from '../../kit/clock.ts';
import { newId } from '../../kit/ids.ts';
import type { Log } from '../../kit/log.ts';
import { findNetwork } from '../chains/networks.ts';
import type { AdvancePaymentInput, Payment, Store } from '../../store/store.ts';
import {
  paymentEvents,
  type EventFields,
  type PaymentEvent,
  type PaymentEventName,
} from './payment-events.ts';

export interface MoveContext {
  store: Store;
  clock: Clock;
  log: Log;
  /** Names this process among all that share the store. */
  owner: string;
  /** How long others leave a payment alone when this process has died. */
  leaseMs: number;
}

type Change = NonNullable<AdvancePaymentInput['set']>;

/** Makes the fields of a new lease. Each has its own name, so two requests in one process exclude each other. */
export const newLease = ({ owner, ...context }: MoveContext): { leaseOwner: string; leaseUntil: number } => ({
  leaseOwner: `${owner}/${randomUUID()}`,
  leaseUntil: context.clock.now() + context.leaseMs,
});

export const isLeased = (
  { clock }: Pick<MoveContext, 'clock'>,
  { leaseOwner, leaseUntil }: Payment,
): boolean => leaseOwner !== null && leaseUntil !== null && leaseUntil > clock.now();

const soonestMs = 5_000;
const latestMs = 600_000;
const dayMs = 86_400_000;

/** Returns when to look again at a payment: soon at first, then less and less often, as a proof may be valid for years. */
const nextCheck = ({ createdAt }: Payment, now: number): number => {
  const ageMs = now - createdAt;
  const longestMs = ageMs > dayMs ? ageMs / 24 : latestMs;
  return now + Math.floor(Math.min(Math.max(ageMs / 4, soonestMs), longestMs));
};

const defaultFinalityMs = 1_800_000;

/** Returns when to check once more that no fork has undone what the chain said. */
const finalCheck = ({ network }: Payment, now: number): number =>
  now + (findNetwork(network)?.family.finalityMs ?? defaultFinalityMs);

const noLease = { leaseOwner: null, leaseUntil: null };

const nextOf = (context: MoveContext, payment: Payment, next: PaymentEvent['next']): Change => {
  const now = context.clock.now();
  const leaseUntil = now + context.leaseMs;
  const soon = nextCheck(payment, now);
  switch (next) {
    case 'take':
      return { ...newLease(context), leaseUntil, checkAt: leaseUntil };
    case 'work':
      return { leaseUntil, checkAt: leaseUntil };
    case 'pause':
      return { leaseUntil: now, checkAt: soon };
    case 'wait':
      return { ...noLease, checkAt: soon };
    case 'last_check':
      return { ...noLease, checkAt: finalCheck(payment, now) };
    case 'end':
      return { ...noLease, checkAt: null };
    case 'later':
      return { checkAt: soon };
    case 'keep':
      return {};
  }
};

/** Returns the part of a compare-and-set that decides in which states, and under which lease, the event may happen. */
const guardOf = (
  { from, to, by }: PaymentEvent,
  { identity, state, leaseOwner }: Payment,
): Pick<AdvancePaymentInput, 'from' | 'owner'> => {
  if (by === 'anybody') return { from };
  if (by === 'holder' && leaseOwner === null)
    throw new Error(`payment ${identity} is worked on without a lease`);
  const owner = leaseOwner === null ? {} : { owner: leaseOwner };
  // A holder may have moved the payment since it read it.
  if (by === 'holder' && to !== null) return { from, ...owner };
  if (!from.includes(state)) throw new Error(`payment ${identity} is ${state}, where this cannot happen`);
  return { from: [state], ...owner };
};

/** `payment` is as this process read it. A holder may have moved it since, under its own lease. */
export const changeOf = <E extends PaymentEventName>(
  context: MoveContext,
  payment: Payment,
  [name, fields]: [name: E, fields: EventFields<E>],
): AdvancePaymentInput => {
  const event: PaymentEvent = paymentEvents[name];
  return {
    identity: payment.identity,
    ...guardOf(event, payment),
    to: event.to ?? payment.state,
    set: { ...fields, ...event.writes, ...nextOf(context, payment, event.next) },
    now: event.isQuiet === true ? payment.updatedAt : context.clock.now(),
  };
};

/** Moves a payment along one edge. Null: its state or its lease is another by now. */
export const movePayment = <E extends PaymentEventName>(
  context: MoveContext,
  payment: Payment,
  ...event: [name: E, fields: EventFields<E>]
): Promise<Payment | null> => {
  const change = changeOf(context, payment, event);
  const { accountId, credit } = payment;
  return credit === null
    ? context.store.advancePayment(change)
    : context.store.advanceCredit({ change, accountId, entryId: newId() });
};

/** Work that hangs for more renewals is left to other processes. */
const maxRenewals = 40;

/** Extends our lease in the state that the payment has by now, which is the one that we read or a later one. */
const renew = async (context: MoveContext, payment: Payment): Promise<void> => {
  const { from } = paymentEvents.renewed;
  for (const state of from.slice(from.findIndex((one) => one === payment.state))) {
    if ((await movePayment(context, { ...payment, state }, 'renewed', {})) !== null) return;
  }
};

/** Runs `work` on a payment of which this process has the lease, and renews the lease until it ends. */
export const whileLeased = async <T>(
  context: MoveContext,
  payment: Payment,
  work: () => Promise<T>,
): Promise<T> => {
  let renewals = 0;
  using timer = setInterval(
    () => {
      renewals += 1;
      if (renewals === maxRenewals) clearInterval(timer);
      renew(context, payment).catch((error: unknown) =>
        context.log.warn({ err: error, payment: payment.identity }, 'renewing a payment lease failed'),
      );
    },
    Math.ceil(context.leaseMs / 3),
  );
  return await work();
};
