import type { z } from 'zod';
import type { Caller } from '../accounts/caller.ts';
import type { Buyer, Catalogs } from '../catalog/catalog.ts';
import type { WalletConfig } from '../catalog/wallet-settings.ts';
import type { Clock } from '../kit/clock.ts';
import type { ModelConfig } from '../catalog/model.ts';
import type { AppError, ErrorCode } from '../kit/errors.ts';
import type { JobRunner } from '../jobs/job-runner.ts';
import type { JobSettings } from '../jobs/job-settings.ts';
import type { JsonObject } from '../kit/json.ts';
import type { Leads } from '../leads/lead-source.ts';
import type { AccountLimiter } from '../limits/account-limiter.ts';
import type { AddressLimiter } from '../limits/address-limiter.ts';
import type { LimitSettings } from '../limits/limit-settings.ts';
import type { MemoryBudget } from '../limits/memory-budget.ts';
import type { RequestMemory } from '../limits/request-memory.ts';
import type { Log } from '../kit/log.ts';
import type { ValidationForm } from '../kit/write-error.ts';
import type { FetchInput } from '../media/fetch-input.ts';
import type { InputFolder } from '../media/input-folder.ts';
import type { MediaLibrary } from '../media/media-library.ts';
import type { StreamInput } from '../media/stream-input.ts';
import type { Nano } from '../kit/money.ts';
import type { Outbound } from '../http/outbound.ts';
import type { Providers } from '../providers/create-providers.ts';
import type { Challenge, PriceRange, Proofs, Receipt, X402Gate } from '../purchases/x402/x402-gate.ts';
import type { Job, JobPayment, Media, Store } from '../store/store.ts';
import type { WebhookSettings } from '../webhooks/webhook-settings.ts';
import type { HistoryCursors } from './account/history-cursor.ts';
import type { OperationDocs } from './operation-docs.ts';
import type { SearchConfig } from './search/search-settings.ts';

/**
 * One thing that the gateway does, defined once. MCP tools, REST routes, prices and documents are made from the list of
 * operations (index.ts). A definition is static data and functions that get their `Services`, so documents and checks
 * over all operations need no database.
 */
export type Operation = ReadOperation | OpenOperation | SoldOperation;

/** What REST, validation and the interface description read of an operation, of customers or of the operator. */
export interface DescribedOperation {
  /** The MCP tool's name and OpenAPI's operationId, in snake_case. */
  name: string;
  title: string;
  /** Tells models, and people, its effect, its price and its answer. */
  description: string;
  /** The tag in the interface description. */
  group: string;
  input: z.ZodType;
  /** The whole JSON answer; loose where it may grow. A tool's schema leaves out what is marked (schema-marks.ts). */
  output: z.ZodType;
  sale: Sale | null;
  /** The kind of SKU that it sells. Without such a SKU in the catalog it is no tool, and REST answers model_not_found. */
  sells?: ModelConfig['kind'];
  /** Names that other APIs have, in lower case, with the fields that stand for each. */
  otherNames?: ReadonlyMap<string, readonly string[]>;
  /** The prices of its calls, where documents tell them. */
  price?: PriceRange | null;
  /** True: anybody may call it, free of charge and without a key. */
  isOpen?: true;
  rest: RestBinding;
  docs: OperationDocs;
}

interface OperationBase<Input> extends DescribedOperation {
  group: 'generation' | 'search';
  input: z.ZodType<Input>;
  /** Null: it is no tool, because another tool answers the same. */
  tool: ToolBinding | null;
  /** Absent: its answer is no MCP resource. */
  resource?: ResourceBinding;
}

/** Reads or changes the calling account's own data, free of charge. */
export interface ReadOperation<Input = unknown> extends OperationBase<Input> {
  sale: null;
  isOpen?: never;
  handle(input: Input, call: AccountCall, services: Services): Promise<JsonAnswer | ContentAnswer>;
}

/** Answers anybody, free of charge. It is no tool. */
export interface OpenOperation<Input = unknown> extends OperationBase<Input> {
  sale: null;
  isOpen: true;
  tool: null;
  /** Names the operation that is sold by x402 and whose limit of calls counts these calls, too. */
  countedWith: string;
  handle(input: Input, call: Call, services: Services): Promise<JsonAnswer>;
}

export interface SoldOperation<Input = unknown> extends OperationBase<Input> {
  sale: Sale<Input>;
  isOpen?: never;
}

/** How calls are paid. Where both ways are open, a call with an API key is prepaid, and one without pays by x402. */
export type Sale<Input = unknown> =
  | { prepaid: PrepaidSale<Input>; x402?: X402Sale<Input> }
  | { prepaid?: undefined; x402: X402Sale<Input> };

/** Opens a job under a hold on the balance of the account, and answers from it. */
export interface PrepaidSale<Input = unknown> {
  /** The part of the input that an idempotency key is bound to. */
  idempotentPart(input: Input): unknown;
  open(
    input: Input,
    call: AccountCall,
    services: Services,
    idempotency: Idempotency | null,
  ): Promise<OpenedJob>;
  answer(opened: OpenedJob, input: Input, call: AccountCall, services: Services): Promise<Answer>;
  /** How a call is sold to a wallet that has no key. Absent: it is not. */
  perCall?: PerCall<Input>;
}

/** Describes the single calls of a prepaid operation, from which per-call-sale.ts makes an `X402Sale`. */
export interface PerCall<Input = unknown> extends Pick<X402Sale, 'description' | 'unit' | 'tags'> {
  /**
   * Returns the most that a call can cost, and how it comes about. Reads nothing outside of the process. Throws AppError
   * for a call that cannot run, or whose price is not known before it runs.
   */
  quote(input: Input, buyer: Buyer, services: Services): Quote;
  /** Refuses, before the payment is settled, what `open` would refuse without reaching outside. Throws AppError. */
  check?(input: Input, call: AccountCall, services: Services): Promise<void>;
  /** A call ends while its caller waits, so that it can be paid then, by what it used. */
  isMetered?: true;
}

export interface Quote {
  most: Nano;
  /** Units, rates and limits, for the buyer. */
  parts: JsonObject;
}

/**
 * Sells single calls by x402, without an account. Terms, the manifest, catalogues, signed offers and paywall pages are
 * made from this. The REST path and the tool's name are those of the operation.
 */
export interface X402Sale<Input = unknown> {
  /** Names the goods in a few words, such as "Influencer search". No two operations have the same. */
  description: string;
  /** One call and several, such as "search" and "searches". */
  unit: { one: string; many: string };
  /** For catalogues: at most 5, each printable ASCII of at most 32 characters. */
  tags: string[];
  /** An input and its answer, for catalogues. */
  example: { input: JsonObject; output: JsonObject };
  /** Calls a minute that one client address may make. */
  ratePerMinute: number;
  /** Names the present price rule. It is stored while it is offered, so it stays the same as long as the rule does. */
  pricing: string;
  /** The price of a call by the present rule. `buyer`: the account that calls; absent: a wallet. */
  price(input: Input, services: Services, buyer?: Buyer): Nano;
  /** The prices by the rules of those names, which may have been the present one until lately. Default: the present price. */
  formerPrices?(input: Input): Readonly<Record<string, Nano>>;
  /** The prices of the cheapest and the dearest call that a wallet can buy now; null: it can buy none. */
  priceRange(services: Pick<Services, 'catalogs' | 'config'>): PriceRange | null;
  /** A payment raises a balance by its price: of the caller's account, or of the account of the wallet that pays. */
  isCredit?: true;
  /** Tells how the price of a call comes about, beside its terms. */
  explain?(input: Input, services: Services, buyer?: Buyer): JsonObject;
  /** Throws AppError on input that is well-formed but cannot run, before anybody pays. */
  check(input: Input, services: Services): void;
  /** Answers a call that is free of charge and needs no proof; null: this call is sold. */
  look?(
    input: Input,
    services: Services,
    signal: AbortSignal,
    signIn?: Call['signIn'],
  ): Promise<JsonObject> | null;
  /** Makes the answer, which is stored as it is. Nothing is charged when this throws. */
  produce(input: Input, services: Services, signal: AbortSignal): Promise<JsonObject>;
  /** Filters a stored answer before it is replayed. Returns the same object when nothing was removed. */
  replay?(result: JsonObject, services: Services, signal: AbortSignal): Promise<JsonObject>;
  /** Whether an answer is given away. */
  isFree(result: JsonObject, services: Services): boolean;
  /**
   * Whether an answer is made up (null: an answer that would be made now). Such answers are marked, and not sold for
   * real money. An answer may be old, so its own data decide where they can tell.
   */
  isSandbox(services: Services, result: JsonObject | null): boolean;
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

export interface RestBinding {
  method: 'GET' | 'POST' | 'DELETE';
  /** The path as OpenAPI writes it, `/v1/jobs/{job_id}`. The names in braces are input fields. */
  path: string;
  /** Input fields that come from the query. The other fields of a POST come from the body; no other method has one. */
  query: readonly string[];
  validation: ValidationForm;
  /**
   * True: no field is ignored, and a POST whose body is JSON takes no query parameters. The schema must be a strict object.
   */
  isStrict?: true;
  /** True: a POST without a body is one without fields. */
  isBodyOptional?: true;
  /** The media types of a body that is not JSON. */
  accepts?: readonly string[];
  /** The media types of an answer that is bytes, not JSON. */
  content?: readonly string[];
  /** The error codes that the documentation lists, beside those of all operations of its kind. */
  errors: readonly ErrorCode[];
}

export type ToolOperation = Operation & { tool: ToolBinding };

export interface ToolBinding {
  readOnly: boolean;
  idempotent: boolean;
  /** True: it reaches beyond the gateway's own data. */
  openWorld: boolean;
  /**
   * The arguments that most calls need. With them alone the tool is listed to wallets, which have no key, and described to
   * catalogues. Absent: all.
   */
  main?: readonly string[];
  /** A sentence for the instructions of the server, which a model reads before its first call. */
  instruction?: string;
}

/** The MCP resource that an operation answers. */
export interface ResourceBinding {
  /** The address below `{brand}://`, with input fields in braces. Null: the answer is bytes, at its REST address. */
  path: string | null;
  name: string;
  title: string;
  /** Lists resources of this kind, when the path has fields. */
  list?(call: AccountCall, services: Services): Promise<{ path: string; name: string; title: string }[]>;
}

/** One call, as a transport hands it to `execute`. */
export interface Call {
  transport: 'rest' | 'mcp';
  requestId: string;
  caller: Caller | null;
  /** The client's address behind trusted proxies, for rate limits. */
  clientAddress: string;
  idempotencyKey: string | null;
  /** x402 proofs as they were sent, not yet read. */
  proofs: Proofs | null;
  /** The header SIGN-IN-WITH-X as it was sent. */
  signIn?: string | undefined;
  memory: RequestMemory;
  /** Aborts when the client disconnects. Paid work goes on. */
  signal: AbortSignal;
  /** The `_meta` of a message over MCP, which may name the trace that it belongs to. */
  trace?: Readonly<Record<string, unknown>> | undefined;
  /** Reports progress to a waiting MCP client. Absent when the client did not ask for it. */
  progress?: (update: { elapsedMs: number; message: string }) => void;
}

/** Watches a run of an operation, for telemetry. */
export type ObserveOperation = (
  operation: Operation,
  call: Call,
  perform: () => Promise<Answer>,
) => Promise<Answer>;

/** `payment`: the one that was made for this call alone. */
export type AccountCall = Call & { caller: Caller; payment?: JobPayment };

export interface Idempotency {
  endpoint: string;
  key: string;
  bodyHash: string;
}

export interface OpenedJob {
  job: Job;
  isReplayed: boolean;
}

export interface JsonAnswer {
  kind: 'json';
  status: 200 | 202;
  body: JsonObject;
  /** Lower case names. */
  headers: Record<string, string>;
  /** True: a sandbox made it, or it contains synthetic data. */
  isSandbox: boolean;
  /** Media of the result, for MCP resource links. */
  links: MediaLink[];
  /** The settled payment, on paid operations. */
  receipt?: Receipt;
}

/** Returns a JSON answer. Without `rest`: status 200, no headers, no media, and nothing that a sandbox made. */
export const jsonAnswer = (
  body: JsonObject,
  rest: Partial<Omit<JsonAnswer, 'kind' | 'body'>> = {},
): JsonAnswer => ({ kind: 'json', status: 200, body, headers: {}, isSandbox: false, links: [], ...rest });

export interface MediaLink {
  url: string;
  name: string;
  /** Null: unknown until the bytes are read. */
  mimeType: string | null;
}

export interface StreamAnswer {
  kind: 'stream';
  headers: Record<string, string>;
  /** Sends the events. Resolves with the end of the answer, or when the client disconnects. */
  stream(send: SendEvents): Promise<void>;
}

/** Sends events together. The promise, if any, resolves when the client is ready for more. */
export type SendEvents = (events: ServerSentEvent[]) => Promise<void> | undefined;

export interface ServerSentEvent {
  event?: string;
  /** One line of text: JSON, or `[DONE]`. */
  data: string;
  /** One line before the event, which clients pass over. */
  comment?: string;
}

/** The bytes of one medium. Only REST answers it. */
export interface ContentAnswer {
  kind: 'content';
  media: Media;
  fileName: string;
  /** Called when the bytes are missing. Compensates the loss and returns the refusal. */
  whenMissing?: () => Promise<AppError>;
}

export interface PaymentRequiredAnswer {
  kind: 'payment_required';
  /** Whether what is sold is marked as sandbox data. */
  isSandbox: boolean;
  challenge: Challenge;
  /** How the price comes about. */
  quote?: JsonObject;
  /** Of a settlement that failed. */
  receipt?: Receipt;
}

export type Answer = JsonAnswer | StreamAnswer | ContentAnswer | PaymentRequiredAnswer;

/** The settings that operations and transports read. */
export interface OperationSettings
  extends LimitSettings, WebhookSettings, Pick<JobSettings, 'chatDeadlineMs' | 'imageDeadlineMs'> {
  brand: string;
  models: readonly ModelConfig[];
  search: SearchConfig;
  x402: { takesRealMoney: boolean; speaksMpp: boolean };
  wallets: WalletConfig;
  /** Host names of foreign web pages whose scripts may call /mcp, beside our own and local ones. */
  allowedOrigins: string[];
}

/** The parts of the gateway that handlers use. Wired in src/services.ts. */
export interface Services {
  config: OperationSettings;
  clock: Clock;
  log: Log;
  /** Absent: there is no telemetry. */
  observeOperation?: ObserveOperation | undefined;
  store: Store;
  catalogs: Catalogs;
  jobs: JobRunner;
  leads: Leads;
  x402: X402Gate;
  /** By operation: the limits of calls that are paid by x402. */
  addressLimiters: ReadonlyMap<string, AddressLimiter>;
  accountLimiter: AccountLimiter;
  historyCursors: HistoryCursors;
  /** The memory for large requests, and for text jobs that run from them. */
  bodyMemory: MemoryBudget;
  media: MediaLibrary;
  outbound: Outbound;
  /** Downloads an input into memory: images and audio. */
  fetchInput: FetchInput;
  /** Downloads an input as a stream: videos. */
  streamInput: StreamInput;
  /** The folder of videos that are being downloaded. */
  inputFolder: InputFolder;
  /** The routes of image and video SKUs. */
  providers: Pick<Providers, 'image' | 'video'>;
  /** `{base_url}` without a trailing slash. */
  publicUrl: () => string;
}
