import type { z } from 'zod';
import type { Caller } from '../accounts/caller.ts';
import type { Catalogs } from '../catalog/catalog.ts';
import type { Clock } from '../kit/clock.ts';
import type { Config, ModelConfig } from '../config/config.ts';
import type { AppError, ErrorCode } from '../kit/errors.ts';
import type { JobRunner } from '../jobs/job-runner.ts';
import type { JsonObject } from '../kit/json.ts';
import type { Leads } from '../leads/lead-source.ts';
import type { AccountLimiter } from '../limits/account-limiter.ts';
import type { AddressLimiter } from '../limits/address-limiter.ts';
import type { MemoryBudget } from '../limits/memory-budget.ts';
import type { RequestMemory } from '../limits/request-memory.ts';
import type { Log } from '../kit/log.ts';
import type { FetchInput } from '../media/fetch-input.ts';
import type { InputFolder } from '../media/input-folder.ts';
import type { MediaLibrary } from '../media/media-library.ts';
import type { StreamInput } from '../media/stream-input.ts';
import type { Nano } from '../kit/money.ts';
import type { Outbound } from '../http/outbound.ts';
import type { Providers } from '../providers/create-providers.ts';
import type { Challenge, Proofs, Receipt, X402Gate } from '../purchases/x402/x402-gate.ts';
import type { Job, Media, Store } from '../store/store.ts';
import type { HistoryCursors } from './account/history-cursor.ts';

/**
 * One thing the gateway does, defined once: MCP tools, REST routes and the OpenAPI document are made from the
 * list of operations in index.ts. A definition is static data with functions; what it works with comes in
 * `Services`, so documents and checks over all operations need no database.
 */
export type Operation = ReadOperation | SoldOperation;

interface OperationBase<Input> {
  /** The MCP tool's name and OpenAPI's operationId, in snake_case. */
  name: string;
  title: string;
  /** For people and for models: what it does, what it costs, what comes back. */
  description: string;
  group: 'generation' | 'search';
  /** The kind of SKU that it sells; where the catalog has none, it is no tool (over REST it answers model_not_found). */
  sells?: ModelConfig['kind'];
  input: z.ZodType<Input>;
  /** The JSON answer. Loose where it may grow. */
  output: z.ZodType;
  rest: RestBinding;
  /** Null: no tool, as another one tells the same. */
  tool: ToolBinding | null;
}

/** Answers from what is there; free, for the account that asks. */
export interface ReadOperation<Input = unknown> extends OperationBase<Input> {
  sale: null;
  handle(input: Input, call: AccountCall, services: Services): Promise<JsonAnswer | ContentAnswer>;
}

export interface SoldOperation<Input = unknown> extends OperationBase<Input> {
  sale: Sale<Input>;
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
  /** The price of a call by the present rule. */
  price(input: Input, services: Services): Nano;
  /** The price by the rule of that name, which may have been the present one until lately; null for an unknown rule. */
  priceUnder(pricing: string, input: Input, services: Services): Nano | null;
  /** The prices of the cheapest and the dearest call by the present rule. */
  priceRange: { least: Nano; most: Nano };
  /** Throws AppError on input that is well-formed but cannot run, before anybody pays. */
  check(input: Input, services: Services): void;
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
  method: 'GET' | 'POST';
  /** OpenAPI's form, `/v1/jobs/{job_id}`; the names in braces are input fields. */
  path: string;
  /** Input fields that come from the query; on a POST the others come from the body. */
  query: readonly string[];
  /** Who reads a 422: the envelope, search's `detail`, or both. */
  validation: 'envelope' | 'detail' | 'both';
  /** Further statuses of success beside 200. */
  accepted?: boolean;
  /** The media types of an answer that is bytes, not JSON. */
  content?: readonly string[];
  /** Whether `stream: true` answers server-sent events. */
  streams?: boolean;
  /** The error codes that the endpoint's documentation lists. */
  errors: readonly ErrorCode[];
}

/** An operation that is a tool. */
export type ToolOperation = Operation & { tool: ToolBinding };

export interface ToolBinding {
  /** Input fields that the tool's schema leaves out, to be short. They are taken and checked all the same. */
  unlisted: readonly string[];
  readOnly: boolean;
  idempotent: boolean;
  /** Whether it reaches beyond the gateway's own data. */
  openWorld: boolean;
}

/** One call, as a transport hands it to `execute`. */
export interface Call {
  transport: 'rest' | 'mcp';
  requestId: string;
  caller: Caller | null;
  /** Of the client, by the trusted proxy hops; for rate limits. */
  clientAddress: string;
  idempotencyKey: string | null;
  /** x402 proofs as they came, unread. */
  proofs: Proofs | null;
  memory: RequestMemory;
  /** Aborts when the client has gone. Work that was paid for goes on. */
  signal: AbortSignal;
  /** Tells a waiting MCP client that work goes on; absent when it did not ask. */
  progress?: (update: { elapsedMs: number; message: string }) => void;
}

export type AccountCall = Call & { caller: Caller };

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
  /** Whether the sandbox made it, or synthetic data is in it. */
  isSandbox: boolean;
  /** Media of the result, for MCP resource links. */
  links: MediaLink[];
  /** The settled payment, on paid operations. */
  receipt?: Receipt;
}

export interface MediaLink {
  url: string;
  name: string;
  /** Null where only the bytes tell it. */
  mimeType: string | null;
}

export interface StreamAnswer {
  kind: 'stream';
  headers: Record<string, string>;
  /** Ends when the answer ended or the client has gone. */
  events: AsyncIterable<ServerSentEvent>;
}

export interface ServerSentEvent {
  event?: string;
  /** One line of text, JSON but for `[DONE]`. */
  data: string;
}

/** The bytes of one medium; over REST only. */
export interface ContentAnswer {
  kind: 'content';
  media: Media;
  /** For a download. */
  fileName: string;
  /** Asked when the bytes turn out not to be there: does what has to follow and answers with the refusal. */
  whenMissing?: () => Promise<AppError>;
}

export interface PaymentRequiredAnswer {
  kind: 'payment_required';
  /** Whether what is sold is marked as sandbox data. */
  isSandbox: boolean;
  challenge: Challenge;
  /** Of a settlement that failed. */
  receipt?: Receipt;
}

export type Answer = JsonAnswer | StreamAnswer | ContentAnswer | PaymentRequiredAnswer;

/** What handlers work with; wired in src/services.ts. */
export interface Services {
  config: Config;
  clock: Clock;
  log: Log;
  store: Store;
  catalogs: Catalogs;
  jobs: JobRunner;
  leads: Leads;
  x402: X402Gate;
  /** By operation: the limits of calls that are paid by x402. */
  addressLimiters: ReadonlyMap<string, AddressLimiter>;
  accountLimiter: Pick<AccountLimiter, 'consume'>;
  historyCursors: HistoryCursors;
  /** For large requests and the text jobs that work from them. */
  bodyMemory: MemoryBudget;
  media: MediaLibrary;
  outbound: Outbound;
  /** Takes in what a caller named, whole: images and audio. */
  fetchInput: FetchInput;
  /** Takes in what a caller named, as a stream: videos. */
  streamInput: StreamInput;
  /** Where videos lie while they are taken in. */
  inputFolder: InputFolder;
  /** The routes of what is sold. */
  providers: Pick<Providers, 'image' | 'video'>;
  /** `{base_url}` without a trailing slash. */
  publicUrl: () => string;
}
