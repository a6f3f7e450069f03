import type { Nano } from '../../kit/money.ts';
import type { Challenge, PaymentMethod, UptoTerms } from '../wire/challenge.ts';
import type { DocumentSigner } from '../wire/signed-documents.ts';
import type { Payment } from '../../store/store.ts';
import type { MoveContext } from './move-payment.ts';
import type { TermsRegistry } from './find-terms.ts';
import type { SoldOver, SoldResources } from '../wire/sold-resources.ts';
import type { Proofs } from '../wire/parse-proof.ts';
import type { Receipt } from './answers.ts';
import type { UptoSale } from './scheme.ts';

interface Order extends SoldOver {
  price: Nano;
  /** The prices under the rules of those names, which may have been offered until lately. */
  formerPrices?: Readonly<Record<string, Nano>>;
  /** The proofs as they came, unread; null for none. */
  proofs: Proofs | null;
  /** The hash of the canonical request: a proof pays one request. */
  requestHash: string;
  /** Offers the scheme `upto`, too, for which this does the work; absent: `exact` alone. */
  upto?: UptoSale;
  /** Aborts when the client has gone. Ends the work before the settlement, and never a settlement. */
  signal: AbortSignal;
  /** The work costs money elsewhere: once begun, it is done and paid even if the client has gone. */
  costsMoney?: boolean | undefined;
  /** The network of the caller: an IPv4 address, or the /64 of an IPv6 one. */
  client: string;
}

export interface AnswerOrder extends Order {
  /** The payment is noted with this account, as its `credit` would be, and raises no balance. Absent: with none. */
  owner?: Credit;
  /** Makes the JSON text that is sold, or given away. When it throws, nothing is charged and the error is passed on. */
  produce: (signal: AbortSignal, payment: Payment) => Promise<string | { free: string }>;
}

/** Raises a balance by the price, or by what the payment takes. */
export interface CreditOrder extends Order {
  credit: Credit;
  /**
   * Checks a verified payment, and makes the JSON text that is stored with it; null: none. `free`: nothing is charged. When
   * it throws, nothing is charged and the error is passed on.
   */
  produce: (signal: AbortSignal, payment: Payment) => Promise<string | null | { free: string | null }>;
}

export type PayRequest = Order &
  Pick<CreditOrder, 'produce'> &
  Partial<Pick<CreditOrder, 'credit'> & Pick<AnswerOrder, 'owner'>>;

export interface Credit {
  /** The account whose balance is raised; null: that of the wallet that pays, which is made if needed. */
  accountId: string | null;
  /** Whether that is an account for sandbox credit. */
  isSandbox: boolean;
}

export type PayOutcome = Unpaid | Served<string | null>;

interface Unpaid {
  outcome: 'unpaid';
  challenge: Challenge;
  receipt?: Receipt;
}

interface Served<Result> {
  outcome: 'served';
  result: Result;
  /** Undefined for a result that was given away. */
  receipt: Receipt | undefined;
  /** Whether the result was made for an earlier request with the same proof. */
  replayed: boolean;
  transaction: string | null;
  identity: string;
  /** The account whose balance it raised, and by how much; null for none. */
  accountId: string | null;
  credit: Nano | null;
  /** Null for a result that was given away. */
  settledAt: number | null;
  /** What was paid; null for a result that was given away. */
  paid: Pick<Payment, 'network' | 'asset' | 'amount'> | null;
}

export type SoldOutcome = Unpaid | Served<string>;

export interface SaleContext extends MoveContext {
  methods: readonly PaymentMethod[];
  resources: SoldResources;
  /** Signs receipts. Null until its key is loaded. */
  signer: () => DocumentSigner | null;
  terms: TermsRegistry;
  challenge: (request: SoldOver & { price: Nano; reason?: string; upto?: UptoTerms | null }) => Challenge;
  /** Lets work go on that the gate waits for when it closes. */
  inBackground: (work: Promise<void>) => void;
  closing: AbortSignal;
}
