import type { Nano } from '../../kit/money.ts';
import type { Challenge, PaymentMethod, UptoTerms } from '../wire/challenge.ts';
import type { FeePayers } from '../chains/core/facilitator.ts';
import type { DocumentSigner } from '../wire/document-signer.ts';
import type { Payment } from '../../store/store.ts';
import type { MoveContext } from './move-payment.ts';
import type { createFormerTermsRegistry } from './former-terms.ts';
import type { SoldOver, SoldResources } from './resources.ts';

/** The surroundings of every step of a payment. */
export interface X402Context extends MoveContext {
  methods: readonly PaymentMethod[];
  resources: SoldResources;
  /** Signs receipts. Null until its key is loaded. */
  signer: () => DocumentSigner | null;
  recentFeePayers: FeePayers;
  formerTerms: ReturnType<typeof createFormerTermsRegistry>;
  /** `reason`: why a proof was refused. */
  challenge: (request: SoldOver & { price: Nano; reason?: string; upto?: UptoTerms | null }) => Challenge;
  /** Notes, in the background, that the buyer is being answered. */
  noteDelivery: (payment: Payment) => void;
  /** Aborts when the gate closes. */
  closing: AbortSignal;
}
