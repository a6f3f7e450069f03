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
import type { OperationDocs } from './operation-docs.ts';
import type { HistoryCursors } from './account/history-cursor.ts';

/**
 * One thing that the gateway does, defined once. MCP tools, REST routes, prices and documents are made from the list of
 * operations (index.ts). A definition is static data and functions that get their `Services`, so documents and checks
 * over all operations need no database.
 */
export type Operation = ReadOperation | JobOperation | PaidOperation;

interface OperationBase<Input> {
  /** The MCP tool's name and OpenAPI's operationId, in snake_case. */
  name: string;
  title: string;
  /** Tells models, and people, its effect, its price and its answer. */
  description: string;
  group: 'generation' | 'search';
  /** The kind of SKU that it sells. Without such a SKU in the catalog it is no tool, and REST answers model_not_found. */
  sells?: ModelConfig['kind'];
  input: z.ZodType<Input>;
  /** The whole JSON answer; loose where it may grow. A tool's schema leaves out what is marked (schema-marks.ts). */
  output: z.ZodType;
  rest: RestBinding;
  /** Null: it is no tool, because another tool answers the same. */
  tool: ToolBinding | null;
  docs: OperationDocs;
  /** Absent: its answer is no MCP resource. */
  resource?: ResourceBinding;
}

/** Answers from existing data, free of charge, for the calling account. */
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
  /** The path as OpenAPI writes it, `/v1/jobs/{job_id}`. The names in braces are input fields. */
  path: string;
  /** Input fields that come from the query. The other fields of a POST come from the body. */
  query: readonly string[];
  /** The form of a 422: the error envelope, a list in `detail`, or both. */
  validation: 'envelope' | 'detail' | 'both';
  /** The media types of an answer that is bytes, not JSON. */
  content?: readonly string[];
  /** The error codes that the documentation lists, beside those of all operations of its kind. */
  errors: readonly ErrorCode[];
}

/** An operation that is a tool. */
export type ToolOperation = Operation & { tool: ToolBinding };

export interface ToolBinding {
  readOnly: boolean;
  idempotent: boolean;
  /** True: it reaches beyond the gateway's own data. */
  openWorld: boolean;
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
  memory: RequestMemory;
  /** Aborts when the client disconnects. Paid work goes on. */
  signal: AbortSignal;
  /** Reports progress to a waiting MCP client. Absent when the client did not ask for it. */
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
  /** True: a sandbox made it, or it contains synthetic data. */
  isSandbox: boolean;
  /** Media of the result, for MCP resource links. */
  links: MediaLink[];
  /** The settled payment, on paid operations. */
  receipt?: Receipt;
}

export interface MediaLink {
  url: string;
  name: string;
  /** Null: unknown until the bytes are read. */
  mimeType: string | null;
}

export interface StreamAnswer {
  kind: 'stream';
  headers: Record<string, string>;
  /** Ends with the answer, or when the client disconnects. */
  events: AsyncIterable<ServerSentEvent>;
}

export interface ServerSentEvent {
  event?: string;
  /** One line of text: JSON, or `[DONE]`. */
  data: string;
}

/** The bytes of one medium. Only REST answers it. */
export interface ContentAnswer {
  kind: 'content';
  media: Media;
  /** The file name of a download. */
  fileName: string;
  /** Called when the bytes are missing. Compensates the loss and returns the refusal. */
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

/** The parts of the gateway that handlers use. Wired in src/services.ts. */
export interface Services {
  config: Config;
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
