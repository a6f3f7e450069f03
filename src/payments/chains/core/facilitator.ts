import { LRUCache } from 'lru-cache';
import type { PaymentPayload, PaymentRequirements } from './wire.ts';
import type { SchemeNetworkFacilitator } from '@x402/core/types';
import type { Log } from '../../../kit/log.ts';

/** A proof and the terms that it answers, both in the form of x402 v2. */
export interface PaymentOrder {
  payload: PaymentPayload;
  requirements: PaymentRequirements;
  /** What is taken by `upto`, in the smallest unit. Absent before it is known, and for `exact`: the whole amount. */
  charge?: bigint;
}

export type VerifyOutcome =
  | { outcome: 'valid' }
  /** `reason`: a stable code that may be shown. */
  | { outcome: 'invalid'; reason: string }
  /** Nothing is known about the proof. */
  | { outcome: 'unavailable'; reason: string };

/** A settlement that is about to be sent. Hash and bytes are null where a facilitator elsewhere signs. */
export interface OutgoingTransaction {
  /** Hash or signature. */
  transaction: string | null;
  /** EVM: hex. Solana: base64. */
  rawTransaction: string | null;
  /** The address of the facilitator that is asked; null where it is in this process. */
  facilitator: string | null;
}

export interface SettleOptions {
  /** The transaction that an earlier attempt may have sent; null at the first attempt. */
  earlier: OutgoingTransaction | null;
  /**
   * Called before anything leaves this process, again for each transaction that is signed. Makes its argument durable
   * before it resolves. When it rejects, nothing is sent, and `settle` rejects with the same error.
   */
  beforeBroadcast: (outgoing: OutgoingTransaction) => Promise<void>;
}

export type SettleOutcome =
  | { outcome: 'settled'; transaction: string }
  /** It is proven that the buyer was not charged and this proof will not be settled. `isReverted`: we paid for that. */
  | { outcome: 'failed'; reason: string; transaction: string | null; isReverted?: boolean }
  /** This call sent nothing; it can be tried again. */
  | { outcome: 'unavailable'; reason: string }
  /** The buyer may have been charged, or may yet be. `isReverted`: not by our transaction, for which we paid. */
  | { outcome: 'unknown'; reason: string; transaction: string | null; isReverted?: boolean };

/** A settlement that was begun, as the store has it. */
export interface BegunPayment extends PaymentOrder, OutgoingTransaction {
  /** Epoch milliseconds, before anything was sent. */
  createdAt: number;
}

export type FoundOutcome =
  | { outcome: 'settled'; transaction: string }
  | { outcome: 'failed'; reason: string }
  /** It is not settled so far, and another settlement cannot charge twice. */
  | { outcome: 'open' }
  | { outcome: 'unknown'; reason: string };

/** Turns the chain's answer into the outcome of a settlement. An open payment is unknown, for `openReason`. */
export const toSettleOutcome = (
  found: FoundOutcome,
  { openReason, transaction = null }: { openReason: string; transaction?: string | null },
): Exclude<SettleOutcome, { outcome: 'unavailable' }> => {
  switch (found.outcome) {
    case 'settled':
      return found;
    case 'open':
      return { outcome: 'unknown', reason: openReason, transaction };
    case 'failed':
    case 'unknown':
      return { ...found, transaction };
  }
};

/** The support of a facilitator for a network: further members of the terms' `extra` (Solana: `feePayer`). */
export interface SupportedKind {
  extra: Record<string, unknown>;
  /** The same for the scheme `upto`; absent where it is not settled, or that is not known yet. */
  upto?: Record<string, unknown>;
}

const maxFeePayers = 32;

export const createFeePayers = () => {
  const names = new LRUCache<string, true>({ max: maxFeePayers });
  return {
    has: (feePayer: string): boolean => names.has(feePayer),
    note: (supported: SupportedKind | 'unsupported' | null): void => {
      const feePayer = supported === null || supported === 'unsupported' ? null : supported.extra['feePayer'];
      if (typeof feePayer === 'string') names.set(feePayer, true);
    },
  };
};

export type FeePayers = ReturnType<typeof createFeePayers>;

export interface FacilitatorHealth {
  ready: boolean;
  /** Tells the operator why it is not ready, or soon will not be; null for nothing. */
  detail: string | null;
  /** How many settlements the own account can pay for at the present price; absent where another pays. */
  settlementsLeft?: number;
}

/**
 * Verifies and settles payments on one network. Each method is bounded in time, and none rejects for a fault of a
 * facilitator or chain. Only `settle` rejects, with the error of `beforeBroadcast`.
 */
export interface Facilitator {
  readonly name: string;
  readonly address: () => string;
  /** Null: not known yet. The answer changes only in `refresh`. */
  supports(): SupportedKind | 'unsupported' | null;
  /** Loads what is needed, and asks again what is supported and whether it works. */
  refresh(signal: AbortSignal): Promise<FacilitatorHealth>;
  verify(order: PaymentOrder, signal: AbortSignal): Promise<VerifyOutcome>;
  /** Takes no signal: a settlement ends by its own time-out only. */
  settle(order: PaymentOrder, options: SettleOptions): Promise<SettleOutcome>;
  findOutcome(payment: BegunPayment, signal: AbortSignal): Promise<FoundOutcome>;
  /**
   * Tells whether it can be asked to settle again while the outcome of the first settlement is unknown. A facilitator
   * elsewhere can: it may know the outcome, and the chain takes the same payment once.
   */
  canSettleBlindly(payment: BegunPayment): boolean;
}

export const defaultFacilitatorTimeouts = {
  rpcMs: 5_000,
  verifyMs: 10_000,
  /** A whole settlement, with the wait for the chain. */
  settleMs: 30_000,
  /** A question for what is supported, or for an outcome. */
  queryMs: 10_000,
};

export type FacilitatorTimeouts = typeof defaultFacilitatorTimeouts;

const reasonPattern = /^[a-z0-9_]{1,100}$/;

/** Returns a reason code that may be shown, whatever the text is. */
export const toReasonCode = (text: unknown, otherwise: string): string =>
  typeof text === 'string' && reasonPattern.test(text) ? text : otherwise;

export const signalWithin = (timeoutMs: number, outer?: AbortSignal): AbortSignal => {
  const limit = AbortSignal.timeout(timeoutMs);
  return outer === undefined ? limit : AbortSignal.any([outer, limit]);
};

export const sendNothing = (): Promise<never> => Promise.reject(new Error('verifying sends nothing'));

/**
 * Remembers the errors that `beforeBroadcast` throws. The x402 schemes turn every error into a refused payment, but
 * with such an error nothing was sent, and the caller must get the error itself.
 */
export const watchBeforeBroadcast = (beforeBroadcast: SettleOptions['beforeBroadcast']) => {
  const errors: unknown[] = [];
  return {
    beforeBroadcast: async (outgoing: OutgoingTransaction): Promise<void> => {
      try {
        await beforeBroadcast(outgoing);
      } catch (error) {
        errors.push(error);
        throw error;
      }
    },
    throwFirstError: (): void => {
      if (errors.length > 0) throw errors[0];
    },
  };
};

export interface SchemeRecord {
  /** True when the node failed to answer; then the scheme's verdict says nothing about the proof. */
  isOutage: boolean;
}

interface SchemeCall {
  scheme: SchemeNetworkFacilitator;
  record: SchemeRecord;
  log: Log;
}

/** Verifies a proof by the x402 scheme. `refine` turns the scheme's reason of a refusal into one that may be shown. */
export const verifyByScheme = async (
  { payload, requirements }: PaymentOrder,
  { scheme, record, log, refine }: SchemeCall & { refine: (reason?: string) => Promise<string> | string },
): Promise<VerifyOutcome> => {
  const invalid = (reason: string): VerifyOutcome =>
    record.isOutage ? { outcome: 'unavailable', reason: 'rpc_unavailable' } : { outcome: 'invalid', reason };
  try {
    const { isValid, invalidReason } = await scheme.verify(payload, requirements);
    return isValid && !record.isOutage ? { outcome: 'valid' } : invalid(await refine(invalidReason));
  } catch (error) {
    log.warn({ err: error }, 'verifying a payment ended in an error');
    return invalid(await refine());
  }
};

/** Settles by the x402 scheme. Returns its reason for a failure. Null: only the record shows what happened. */
export const settleByScheme = async (
  { payload, requirements, charge }: PaymentOrder,
  { scheme, record, log }: SchemeCall,
): Promise<string | undefined> => {
  try {
    const amount = charge === undefined ? requirements.amount : charge.toString();
    return (await scheme.settle(payload, { ...requirements, amount })).errorReason;
  } catch (error) {
    log.warn({ err: error }, 'settling a payment ended in an error');
    record.isOutage = true;
    return undefined;
  }
};

/** Below this many settlements the operator is told to fund the account. */
const fewSettlements = 50n;

/**
 * Judges whether an account can pay for settlements. Amounts are in the smallest unit of the chain's coin;
 * `settlementCost` is the most that one costs at the present price. The words do not change with the balance, so that
 * logs do not fill.
 */
export const judgeFunds = (of: {
  account: string;
  spendable: bigint;
  settlementCost: bigint;
}): FacilitatorHealth => {
  const { account, spendable, settlementCost } = of;
  const settlementsLeft = settlementCost === 0n ? 0 : Number(spendable / settlementCost);
  if (spendable < settlementCost)
    return {
      ready: false,
      settlementsLeft: 0,
      detail: `the settling account ${account} cannot pay for one settlement at the present price; fund it`,
    };
  const isLow = spendable < settlementCost * fewSettlements;
  return {
    ready: true,
    settlementsLeft,
    detail: isLow
      ? `the settling account ${account} can pay for fewer than ${fewSettlements} settlements; fund it`
      : null,
  };
};
