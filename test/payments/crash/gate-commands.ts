import type { FacilitatorTimeouts } from '../../../src/payments/chains/core/facilitator.ts';
import type { PayableNetwork } from '../../../src/payments/chains/payment-methods.ts';
import type { Proofs, ReconcileReport } from '../../../src/payments/sale/gate.ts';
import type { StoreKind } from '../../store/open-store-at.ts';

/** What a gate process is started with. */
export interface GateSettings {
  kind: StoreKind;
  /** As `openStoreAt` takes it. */
  location: string;
}

/** One proof, and what it is to buy at which gate. */
export interface PayOrder {
  networks: PayableNetwork[];
  proofs: Proofs;
  /** Names the request that is paid. */
  sale: string;
  /** It raises the balance of the wallet that pays. */
  isCredit?: boolean;
}

export interface Run {
  /** How far the gate's clock is ahead. */
  aheadMs: number;
  timeouts?: Partial<FacilitatorTimeouts>;
}

export type GateCommand =
  /** One after the other, each at a gate of its own. With `dieAt` the process kills itself once all are there. */
  | (Run & { kind: 'pay'; orders: PayOrder[]; dieAt: string | null })
  /** All at once, at one gate over these networks, and not their own. */
  | (Run & { kind: 'payAtOnce'; networks: PayableNetwork[]; orders: PayOrder[] })
  | (Run & { kind: 'reconcile'; networks: PayableNetwork[]; limit: number; dieAt: string | null })
  /** Pays up to that step and never goes on, as if the process that does it were dead. */
  | (Run & { kind: 'abandon'; order: PayOrder; at: string });

export type PayEnd =
  | { kind: 'served'; result: string; replayed: boolean; transaction: string | null }
  | { kind: 'unpaid'; reason: string }
  /** Code of an AppError. */
  | { kind: 'refused'; code: string };

/** `steps` are those of the last piece of work. */
export type GateAnswer =
  | { kind: 'paid'; ends: PayEnd[]; steps: string[] }
  | { kind: 'reconciled'; report: ReconcileReport; steps: string[] }
  | { kind: 'abandoned' }
  /** The step to die or to stop at was not passed. */
  | { kind: 'not reached'; steps: string[] }
  /** It threw something else than a refusal. */
  | { kind: 'broken'; message: string };
