import type { PaymentPayload, PaymentRequirements } from './wire.ts';

/** A proof and the terms that it answers, both in x402 v2 form. */
export interface PaymentOrder {
  payload: PaymentPayload;
  requirements: PaymentRequirements;
}

export type VerifyOutcome =
  | { outcome: 'valid'; payer: string | null }
  /** `reason` is a stable code, safe to show. */
  | { outcome: 'invalid'; reason: string; payer: string | null }
  /** Nothing was learnt about the proof. */
  | { outcome: 'unavailable'; reason: string };

/** A settlement that is about to leave. Hash and bytes are null where the facilitator that signs is elsewhere. */
export interface OutgoingTransaction {
  /** Hash or signature. */
  transaction: string | null;
  /** EVM: hex. Solana: base64. */
  rawTransaction: string | null;
  /** Address of the facilitator that is asked; null where it is in this process. */
  facilitator: string | null;
}

export interface SettleOptions {
  /** What an earlier attempt sent or may have sent; null at the first. */
  earlier: OutgoingTransaction | null;
  /**
   * Called before anything leaves this process, again for each transaction signed anew. What it is given must be
   * durable when it resolves. When it rejects, nothing is sent and settle rejects with the same error.
   */
  beforeBroadcast: (outgoing: OutgoingTransaction) => Promise<void>;
}

export type SettleOutcome =
  /** `isUnchecked`: a facilitator elsewhere says so, and no node answered. */
  | { outcome: 'settled'; transaction: string; payer: string | null; isUnchecked?: boolean }
  /** Proven: the buyer was not charged, and this proof will not be settled. */
  | { outcome: 'failed'; reason: string; transaction: string | null }
  /** Nothing was sent by this call; it can be tried again. */
  | { outcome: 'unavailable'; reason: string }
  /** The buyer may have been charged, or may yet be. */
  | { outcome: 'unknown'; reason: string; transaction: string | null };

/** A settlement that was begun, as far as it is remembered. */
export interface BegunPayment extends PaymentOrder, OutgoingTransaction {
  /** Epoch milliseconds; before anything was sent. */
  createdAt: number;
}

export type FoundOutcome =
  | { outcome: 'settled'; transaction: string }
  | { outcome: 'failed'; reason: string }
  /** Not settled so far, and settling it again cannot charge twice. */
  | { outcome: 'open' }
  | { outcome: 'unknown'; reason: string };

/** What a facilitator says of a network: further members of the terms' `extra` (Solana: `feePayer`). */
export interface SupportedKind {
  extra: Record<string, unknown>;
}

export interface FacilitatorHealth {
  ready: boolean;
  /** Why not, or what soon will keep it from being ready, for the operator; null for nothing. */
  detail: string | null;
}

/**
 * Verifies and settles payments on one network. No method rejects for what a facilitator or chain may do;
 * each is bounded in time. Only `settle` rejects, with what `beforeBroadcast` threw.
 */
export interface Facilitator {
  /** For logs and status. */
  readonly name: string;
  /** The facilitator address of the terms. */
  readonly address: () => string;
  /** Null: not known yet. Changes only in `refresh`. */
  supports(): SupportedKind | 'unsupported' | null;
  /** Loads what is needed and asks anew what is supported and whether it works. */
  refresh(signal: AbortSignal): Promise<FacilitatorHealth>;
  verify(order: PaymentOrder, signal: AbortSignal): Promise<VerifyOutcome>;
  /** Takes no signal: a settlement under way ends by its own time-out only. */
  settle(order: PaymentOrder, options: SettleOptions): Promise<SettleOutcome>;
  findOutcome(payment: BegunPayment, signal: AbortSignal): Promise<FoundOutcome>;
  /**
   * Whether it can be told to settle again while nobody knows what became of the first time. Somebody else's can: it
   * may know, and the chain takes the same payment once.
   */
  canSettleBlindly(payment: BegunPayment): boolean;
}

/** Milliseconds. */
export interface FacilitatorTimeouts {
  /** One call of a chain's RPC. */
  rpcMs: number;
  verifyMs: number;
  /** All of a settlement, waiting for the chain included. */
  settleMs: number;
  /** Asking for what is supported, or for an outcome. */
  queryMs: number;
}

export const defaultFacilitatorTimeouts: FacilitatorTimeouts = {
  rpcMs: 5_000,
  verifyMs: 10_000,
  settleMs: 30_000,
  queryMs: 10_000,
};

const reasonPattern = /^[a-z0-9_]{1,100}$/;

/** A reason code that is safe to show, whatever was said. */
export const toReasonCode = (text: unknown, otherwise: string): string =>
  typeof text === 'string' && reasonPattern.test(text) ? text : otherwise;
