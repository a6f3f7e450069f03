import type { z } from 'zod';
import type { Caller } from '../accounts/caller.ts';
import type { Catalogs } from '../catalog/catalog.ts';
import type { Clock } from '../kit/clock.ts';
import type { ModelConfig } from '../catalog/model.ts';
import type { AppError, ErrorCode } from '../kit/errors.ts';
import type { JobRunner } from '../jobs/job-runner.ts';
import type { JobSettings } from '../jobs/job-settings.ts';
import type { JsonObject } from '../kit/json.ts';
import type { Leads } from '../leads/lead-source.ts';
import type { AccountLimiter } from '../limits/account-limiter.ts';
import type { LimitSettings } from '../limits/limit-settings.ts';
import type { MemoryBudget } from '../limits/memory-budget.ts';
import type { RequestMemory } from '../limits/request-memory.ts';
import type { SearchLimiter } from '../limits/search-limiter.ts';
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
import type { WebhookSettings } from '../webhooks/webhook-settings.ts';
import type { HistoryCursors } from './account/history-cursor.ts';
import type { SearchConfig } from './search/search-settings.ts';

/**
 * One thing the gateway does, defined once: MCP tools, REST routes and the OpenAPI document are made from the
 * list of operations in index.ts. A definition is static data with functions; what it works with comes in
 * `Services`, so documents and checks over all operations need no database.
 */
export type Operation = ReadOperation | JobOperation | PaidOperation;

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
  payment: 'none';
  handle(input: Input, call: AccountCall, services: Services): Promise<JsonAnswer | ContentAnswer>;
}

/** Opens a prepaid job under a hold, and answers from it. */
export interface JobOperation<Input = unknown> extends OperationBase<Input> {
  payment: 'hold';
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

/** Paid for call by call with x402; no account. */
export interface PaidOperation<Input = unknown> extends OperationBase<Input> {
  payment: 'x402';
  /** What the call costs by the present rule. */
  price(input: Input): Nano;
  /** What the cheapest and the dearest call cost by the present rule. */
  priceRange: { least: Nano; most: Nano };
  /** What it costs by the rule of that name, which may have held until lately; null for a rule that is not known. */
  priceUnder(pricing: string, input: Input): Nano | null;
  /** Throws AppError on input that is well-formed but cannot run, before anybody pays. */
  check(input: Input): void;
  produce(input: Input, services: Services, signal: AbortSignal): Promise<JsonObject>;
  /** What may still be given out of a result that was made, and paid for, earlier: the same object when all of it. */
  replay?(result: JsonObject, services: Services, signal: AbortSignal): Promise<JsonObject>;
  /** Whether a result is given away. */
  isFree(result: JsonObject, services: Services): boolean;
  /**
   * Whether the result is marked as sandbox data; null: what would be made now. A result may have been made long ago, so
   * it is asked itself where it can tell.
   */
  isSandbox(services: Services, result: JsonObject | null): boolean;
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

/** The settings that operations and transports read. */
export interface OperationSettings
  extends LimitSettings, WebhookSettings, Pick<JobSettings, 'chatDeadlineMs' | 'imageDeadlineMs'> {
  brand: string;
  models: readonly ModelConfig[];
  search: SearchConfig;
  x402: { takesRealMoney: boolean };
  /** Host names of foreign web pages whose scripts may call /mcp, beside our own and local ones. */
  allowedOrigins: string[];
}

/** What handlers work with; wired in src/services.ts. */
export interface Services {
  config: OperationSettings;
  clock: Clock;
  log: Log;
  store: Store;
  catalogs: Catalogs;
  jobs: JobRunner;
  leads: Leads;
  x402: X402Gate;
  searchLimiter: SearchLimiter;
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
