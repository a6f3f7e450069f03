import type { Clock } from '../../kit/clock.ts';
import { refusals } from './answers.ts';
import {
  createChallengeRegistry,
  largestPrice,
  offeredTerms,
  supportedKinds,
  type PaymentMethod,
} from '../wire/challenge.ts';
import { createSoldResources, type PriceRange, type SaleDescription } from '../wire/sold-resources.ts';
import { createSignOffers, createPaymentDocuments } from '../wire/signed-documents.ts';
import { createPaymentMethods, type PaymentMethodsOptions } from '../chains/payment-methods.ts';
import type { Payment, Store } from '../../store/store.ts';
import { defaultHeaderBytes } from '../x402-settings.ts';
import type {
  SaleContext,
  AnswerOrder,
  CreditOrder,
  PayOutcome,
  PayRequest,
  SoldOutcome,
} from './context.ts';
import type { Proofs } from '../wire/parse-proof.ts';
import { createTokenTexts } from '../records/token-amount.ts';
import { createTermsRegistry } from './find-terms.ts';
import { createPaymentHealth, type NetworkStatus } from './health.ts';
import { reconcile, reconcileOne, type NamedPayment, type ReconcileReport } from './reconcile.ts';
import { createAccountLeases } from './account-lease.ts';
import { recall } from './purchase.ts';
import { prepareTransfer, type AskedTransfer } from './prepare-transfer.ts';
import { createSignIn } from './sign-in.ts';
import { createDialectSpeaker } from './speak-dialects.ts';
import { beginBackgroundWork } from './background-work.ts';

export { nothingWrong, type Challenge } from '../wire/challenge.ts';
export type { PriceRange, SaleDescription, SoldItem } from '../wire/sold-resources.ts';
export type { Dialect } from '../wire/dialect.ts';
export { hasProof, type Proofs } from '../wire/parse-proof.ts';
export { signInFields, signInHeader, signInWithX, toSignedText } from '../wire/sign-in-with-x.ts';
export { replayLifeMs } from './purchase.ts';
export { signInPath } from './sign-in.ts';
export type { Receipt } from './answers.ts';
export type { NetworkStatus } from './health.ts';
export type { AnswerOrder, Credit, PayOutcome, SoldOutcome } from './context.ts';
export type { ReconcileReport } from './reconcile.ts';

/** Each network has its wallet (see assignWallets). `publicUrl` is read when terms are made. */
export interface X402GateOptions extends Pick<
  PaymentMethodsOptions,
  'networks' | 'publicUrl' | 'timeouts' | 'log'
> {
  store: Store;
  /** Everything that is sold. */
  sales: readonly SaleDescription[];
  /** The longest `PAYMENT-REQUIRED`; default 3,200. Extensions that do not fit are only in the terms over MCP. */
  headerBytes?: number;
  clock: Clock;
  /** Names this process among all that share the store. */
  owner: string;
  /** How long the payments of a dead process stay leased; default 30,000 ms. */
  leaseMs?: number;
}

const defaultLeaseMs = 30_000;

export type X402Gate = ReturnType<typeof createX402Gate>;

/** Throws ConfigError for a network or key that cannot be used. Loads no heavy module and sends no request yet. */
export const createX402Gate = (options: X402GateOptions) => {
  const closing = new AbortController();
  const underWay = new Set<Promise<void>>();
  const inBackground = (work: Promise<void>): void => {
    const ending = work.finally(() => underWay.delete(ending));
    underWay.add(ending);
  };
  const log = options.log.child({ part: 'x402' });
  const { context, documents, signIn, health } = createParts({ ...options, log }, { inBackground, closing });
  const { methods } = context;
  const speaker = createDialectSpeaker(context, options.publicUrl);
  const pay = (request: PayRequest): Promise<PayOutcome> => {
    const paying = speaker.pay(request);
    const ended = (): void => undefined;
    // What is paid without its client is settled before the store is closed. Errors reach the caller.
    if (request.upto !== undefined || request.costsMoney === true) inBackground(paying.then(ended, ended));
    return paying;
  };
  return {
    challenge: context.challenge,
    /** Returns the same for a request, in its dialects, too. */
    offer: speaker.offer,
    /**
     * Sells an answer: serves a request once for each proof. Throws AppError: `invalid_payment` (the proof cannot be read),
     * `payment_conflict` (it paid another request), `payment_in_progress` (it is being worked on), `payment_pending`
     * (its settlement may or may not have happened), `payment_unavailable` (nothing was taken), and whatever `produce`
     * throws.
     */
    sellAnswer: async (order: AnswerOrder): Promise<SoldOutcome> => toSold(await pay(order)),
    /** Takes a payment that raises a balance, in the same way. */
    takeCredit: (order: CreditOrder): Promise<PayOutcome> => pay(order),
    findPayment: speaker.findPayment,
    /** Finds the settled payment of a proof. Throws AppError for any other. */
    recall: (proofs: Proofs): Promise<Payment> => recall(context, proofs),
    signIn: signIn.check,
    declareSignIn: signIn.declare,
    promptSignIn: signIn.prompt,
    /** Asks the chains about payments that are due, at most `limit`, and ends them where that is safe. */
    reconcile: (options: { limit: number }): Promise<ReconcileReport> => reconcile(context, options),
    /** Does the same for one payment. Null: there is none, or another process works on it. */
    reconcileOne: (named: NamedPayment): Promise<Payment | null> => reconcileOne(context, named),
    status: health.status,
    /** Returns what the facilitator in this process settles, as JSON text; null when there is none. */
    supported: (): string | null => supportedKinds(methods),
    /** Everything that is sold. */
    sales: options.sales,
    /** Returns the part of a range of prices that can be paid, and the terms of the least price on the ready networks. */
    payable: (range: PriceRange) => payableNow(methods, { range, health: health.status() }),
    /** Makes a transfer for a browser's wallet to sign. Throws AppError. */
    prepareTransfer: (asked: AskedTransfer): Promise<string> => prepareTransfer(methods, asked),
    /** Returns the DID document with the key of offers and receipts, as JSON text. Rejects when the store does. */
    didDocument: documents.didDocument,
    /** Returns an amount in whole tokens, such as `0.10`; null for an unknown token. */
    tokenAmount: createTokenTexts(options.networks).tokenAmount,
    /** Signs what a receipt of an account says, as a JWS with that key. Rejects when the store does. */
    signReceipt: documents.signReceipt,
    /** Loads the modules of the networks and asks the facilitators, now and every few minutes until `close`. */
    warmUp: async (): Promise<void> => {
      await Promise.all([documents.load(), signIn.load(), health.start()]);
    },
    /** Reconciles payments, deletes old ones, and notes which terms are offered, until the signal aborts. */
    begin: (signal: AbortSignal): Promise<void> =>
      beginBackgroundWork(context, { networks: options.networks, signal }),
    /** Ends what runs in the background, and waits for pending writes and for calls that are paid after the work. */
    close: async (): Promise<void> => {
      closing.abort();
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
};

/** A dearest price that no network takes is lowered. While no network is ready, the terms are empty. */
const payableNow = (
  methods: readonly PaymentMethod[],
  { range: { least, most }, health }: { range: PriceRange; health: readonly NetworkStatus[] },
) => {
  const isReady = ({ network }: PaymentMethod): boolean =>
    health.some((one) => one.network === network.id && one.ready);
  const ready = methods.filter(isReady);
  const limits = (ready.length > 0 ? ready : methods).map(({ network }) =>
    largestPrice(network.asset.decimals),
  );
  const limit = limits.reduce((one, other) => (one > other ? one : other), 0n);
  return {
    price: { least, most: most !== null && limits.length > 0 && limit < most ? limit : most },
    accepts: offeredTerms(ready, least).map(({ requirements }) => requirements),
  };
};

const toSold = (outcome: PayOutcome): SoldOutcome => {
  if (outcome.outcome === 'unpaid') return outcome;
  const { result } = outcome;
  if (result === null) throw refusals.found();
  return { ...outcome, result };
};

/** Creates the parts of a gate that inform each other of changed terms. */
const createParts = (
  options: X402GateOptions,
  { inBackground, closing: { signal } }: Pick<SaleContext, 'inBackground'> & { closing: AbortController },
) => {
  const { store, owner, publicUrl, sales, clock, log, leaseMs = defaultLeaseMs } = options;
  const { now } = clock;
  const methods = createPaymentMethods({
    ...options,
    now,
    accountLeaseOf: createAccountLeases({ store, owner, clock, log }),
    onTrouble: () => health.askSoon(),
  });
  const resources = createSoldResources(sales, publicUrl);
  const documents = createPaymentDocuments({ store, publicUrl, log, onSigner: () => challenges.clear() });
  const { signer } = documents;
  const challenges = createChallengeRegistry(methods, {
    signOffers: createSignOffers({ signer, now, log }),
    headerBytes: options.headerBytes ?? defaultHeaderBytes,
    now,
  });
  const signIn = createSignIn({ store, methods, publicUrl, clock, log });
  const health = createPaymentHealth({
    methods,
    log,
    onChange: () => {
      challenges.clear();
      inBackground(documents.load());
      inBackground(signIn.load());
    },
    inBackground,
    signal,
  });
  const { recentFeePayers } = health;
  const context: SaleContext = {
    store,
    clock,
    log,
    owner,
    leaseMs,
    methods,
    resources,
    signer,
    inBackground,
    closing: signal,
    terms: createTermsRegistry({ store, methods, sales, recentFeePayers, clock }),
    challenge: ({ sale, transport, isSandbox, path, ...request }) => {
      const { offersSignIn, ...sold } = resources.find({ sale, transport, isSandbox, path });
      const ownExtensions = offersSignIn ? signIn.declare() : null;
      return challenges.challenge({ ...request, ...sold, ...(ownExtensions && { ownExtensions }) });
    },
  };
  return { context, documents, signIn, health };
};
