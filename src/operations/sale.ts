import type { Buyer } from '../accounts/catalog/catalog.ts';
import type { JsonObject } from '../kit/json.ts';
import type { Nano } from '../kit/money.ts';
import type { PriceRange, SoldItem } from '../payments/sale/gate.ts';
import type { Answer, AnswerParts, AnswerText, ContentAnswer, FileAnswer, JsonAnswer } from './answer.ts';
import type { AccountCall, Call, Idempotency, OpenedJob, Services } from './call.ts';

/**
 * How an operation is sold. Only `sale-rules.ts` reads its kind, and `execute.ts`, which runs each. `Needs` has the
 * services that it takes.
 */
export type Sale<Input = unknown> =
  | FreeSale<Input>
  | OpenSale<Input>
  | PrepaidSale<Input>
  | AnswerSale<Input>
  | BalanceAnswerSale<Input>
  | CreditSale<Input>
  | PerCallSale<Input>
  | SignInSale<Input>;

/** A sale, as far as documents tell of it. An operation of the operator is free. */
export type DescribedSale = Exclude<Sale, FreeSale> | Pick<FreeSale, 'kind'>;

/** Reads or changes the calling account's own data, free of charge. */
export interface FreeSale<Input = unknown, Needs = Services> {
  kind: 'free';
  /**
   * Returns the id of the job or the payment that a call reads. Where wallets have accounts, the proof that paid for it
   * reads it, too, without a key. Absent: the account's key alone does.
   */
  names?(input: Input): string;
  handle(input: Input, call: AccountCall, services: Needs): Promise<JsonAnswer | ContentAnswer | FileAnswer>;
}

/** Answers anybody, free of charge. Such an operation is no tool. */
export interface OpenSale<Input = unknown, Needs = Services> {
  kind: 'open';
  /** Names the operation that is sold by x402 and whose limit of calls counts these calls, too. */
  countedWith: string;
  handle(input: Input, call: Call, services: Needs): Promise<JsonAnswer>;
}

/** Opens a job under a hold on the balance of the account, and answers from it. */
export interface PrepaidSale<Input = unknown, Checked = unknown, Needs = Services> {
  kind: 'prepaid';
  /** The part of the input that an idempotency key is bound to. */
  idempotentPart(input: Input): unknown;
  /** `checked`: what `perCall.check` found for a call that is paid by itself. */
  open(
    input: Input,
    call: AccountCall,
    services: Needs,
    opening: { idempotency: Idempotency | null; checked?: Checked | undefined },
  ): Promise<OpenedJob>;
  answer(opened: OpenedJob, input: Input, call: AccountCall, services: Needs): Promise<Answer>;
  /** A call always waits for the end of its job. So its refusals tell of the job, and it can be paid then, by what it used. */
  waits?: true;
  /** How a call is sold to a wallet that has no key. Absent: it is not. */
  perCall?: PerCall<Input, Checked, Needs>;
}

/** Describes the single calls of a prepaid operation, from which per-call-sale.ts makes a `PerCallSale`. */
export interface PerCall<Input = unknown, Checked = unknown, Needs = Services> extends Pick<
  Offer,
  'description' | 'unit' | 'tags' | 'inputSchema'
> {
  /** As `Offer.items`, at the most that a call of each can cost. */
  items?(services: Pick<Services, 'mounts'>): SoldItem[];
  /**
   * Returns the most that a call can cost, and how it comes about. Throws AppError for a call that cannot run, or whose
   * price is not known before it runs.
   */
  quote(input: Input, buyer: Buyer, services: Needs): CallQuote | Promise<CallQuote>;
  /**
   * Refuses, before the payment is settled, what `open` would refuse without reaching outside, and returns what `open` need
   * not find again. Throws AppError.
   */
  check(input: Input, call: AccountCall, services: Needs): Promise<Checked>;
}

export interface CallQuote extends Pick<Quote, 'paths' | 'unpaidMs'> {
  most: Nano;
  /** Units, rates and limits, for the buyer. */
  parts: JsonObject;
}

/** The price of one call. */
export interface Quote {
  price: Nano;
  /** The prices by the rules of those names, which may have been offered until lately. Default: this price. */
  formerPrices?: Readonly<Record<string, Nano>>;
  /** Tells the buyer how the price comes about, beside the terms. */
  parts?: JsonObject;
  /** Where this call is made, below the base URL. Default: where all calls of the sale are. */
  paths?: Readonly<Record<Call['transport'], string>>;
  /**
   * The longest time of a call that runs before it is paid, by what it used. Null: it runs when its payment is settled.
   * Default: that of chats.
   */
  unpaidMs?: number | null;
}

/**
 * What is paid by x402. Terms, the manifest, catalogues, signed offers and paywall pages are made from this. The REST path
 * and the tool's name are those of the operation.
 */
export interface Offer<Input = unknown> {
  /** Names the goods in a few words, such as "Influencer search". No two operations have the same. */
  description: string;
  /** One call and several, such as "search" and "searches". */
  unit: { one: string; many: string };
  /** For catalogues: at most 5, each printable ASCII of at most 32 characters. */
  tags: string[];
  /** An input and its answer, for catalogues. */
  example: { input: JsonObject; output: JsonObject };
  /** JSON Schema of a body over REST, for catalogues. Default: that of the tool. */
  inputSchema?: JsonObject;
  /** Calls a minute that one client address may make. */
  ratePerMinute: number;
  /** Names the present price rule. It is stored while it is offered, so it stays the same as long as the rule does. */
  pricing: string;
  /** Prices a call. `buyer`: the account that calls; absent: a wallet. */
  quote(input: Input, services: Services, buyer?: Buyer): Quote;
  /** The prices of the cheapest and the dearest call that a wallet can buy now; null: it can buy none. */
  priceRange(services: Pick<Services, 'catalogs' | 'config' | 'mounts'>): PriceRange | null;
  /** Lists the goods that are sold one by one now, where they are no SKUs. Then they are real, whatever models there are. */
  items?(services: Pick<Services, 'mounts'>): SoldItem[];
  /** Texts for made-up answers. */
  sandbox: {
    /** Replaces `description`. */
    description: string;
    /** Names them, such as "fictional profiles". */
    goods: string;
    /** One sentence for pages. */
    notice: string;
  };
}

/** Sells answers without an account: a call is paid before its answer is given. */
export interface AnswerSale<Input = unknown, Needs = Services> extends Offer<Input> {
  kind: 'answer';
  /** Whether answers cost the operator money elsewhere: then they are made and paid even if the client has gone. */
  costsMoney?: boolean;
  /** Answers a call that is free of charge and needs no proof; null: this call is sold. */
  look?(input: Input, services: Needs, signal: AbortSignal): Promise<JsonObject> | null;
  /** Makes the answer, which is stored as it is. Nothing is charged when this throws. */
  produce(input: Input, services: Needs, signal: AbortSignal): Promise<JsonObject>;
  /** Filters a stored answer before it is replayed. Returns the same object when nothing was removed. */
  replay?(result: JsonObject, services: Needs, signal: AbortSignal): Promise<JsonObject>;
  /**
   * Writes an answer for people and models, in place of its JSON text. Absent: the JSON is the text.
   */
  toText?(result: JsonObject, options: TextOptions): AnswerText;
  /** Whether an answer is given away. */
  isFree(result: JsonObject, services: Needs): boolean;
  /**
   * Whether an answer is made up (null: an answer that would be made now). Such answers are marked, and not sold for
   * real money. An answer may be old, so its own data decide where they can tell.
   */
  isSandbox(services: Needs, result: JsonObject | null): boolean;
}

export interface TextOptions {
  /** What it cost, such as `$0.10`; null: nothing. */
  price: string | null;
  /** Writes so many of the last rows, which an earlier text of this answer had no room for. Absent: all. */
  last?: number;
  /** Returns the address at which so many of the last rows are read. */
  moreUri(last: number): string;
}

/** As `AnswerSale`. A call with an API key and without a payment is prepaid. */
export interface BalanceAnswerSale<Input = unknown, Needs = Services> extends Omit<
  AnswerSale<Input, Needs>,
  'kind'
> {
  kind: 'balanceAnswer';
  prepaid: PrepaidSale<Input>;
}

/** A payment raises a balance by its price: of the caller's account, or of the account of the wallet that pays. */
export interface CreditSale<Input = unknown> extends Offer<Input> {
  kind: 'credit';
  /** Returns the answer, without the balance. It is stored. */
  answer(input: Input): JsonObject;
}

/** Signs a wallet in, free of charge. A call without a signed message is answered with a 402 that sells balance. */
export interface SignInSale<Input = unknown, Needs = Services> extends Omit<CreditSale<Input>, 'kind'> {
  kind: 'signIn';
  /** Signs in, or over MCP answers with the challenge. Null: there is no signed message, and the terms have the challenge. */
  signIn(
    input: Input,
    call: Pick<Call, 'signIn' | 'signal' | 'transport'>,
    services: Needs,
  ): Promise<AnswerParts> | null;
}

/**
 * A call with an API key is prepaid. One without, or one that the balance does not cover, is paid by itself: its payment
 * raises the balance by the most that the call can cost.
 */
export interface PerCallSale<Input = unknown> extends Omit<Offer<Input>, 'quote'> {
  kind: 'perCall';
  quote(...of: Parameters<Offer<Input>['quote']>): Promise<Quote>;
  prepaid: PrepaidSale<Input>;
  check: PerCall<Input>['check'];
}
