import type { Catalogs } from '../accounts/catalog/catalog.ts';
import type { WalletConfig } from '../accounts/catalog/wallet-settings.ts';
import type { Clock } from '../kit/clock.ts';
import type { ModelConfig } from '../accounts/catalog/model.ts';
import type { JobRunner } from '../jobs/job-runner.ts';
import type { JobSettings } from '../jobs/job-settings.ts';
import type { Leads } from '../leads/lead-source.ts';
import type { AccountLimiter } from '../limits/minute-limit.ts';
import type { AddressLimiter } from '../limits/address-limiter.ts';
import type { LimitSettings } from '../limits/limit-settings.ts';
import type { MemoryBudget } from '../limits/memory-budget.ts';
import type { RequestMemory } from '../limits/request-memory.ts';
import type { Log } from '../kit/log.ts';
import type { FetchInput } from '../media/fetch-input.ts';
import type { InputFolder } from '../media/input-folder.ts';
import type { MediaSettings } from '../media/media-settings.ts';
import type { MediaLibrary } from '../media/media-library.ts';
import type { StreamInput } from '../media/stream-input.ts';
import type { Providers } from '../providers/create-providers.ts';
import type { Proofs, X402Gate } from '../payments/sale/gate.ts';
import type { Job, JobPayment, Store } from '../store/store.ts';
import type { WebhookSettings } from '../jobs/webhooks/webhook-settings.ts';
import type { HistoryCursors } from './account/history-cursor.ts';
import type { Answer } from './answer.ts';
import type { SearchConfig } from './search/search-settings.ts';
import type { Films } from './videos/films.ts';
import type { Caller } from '../accounts/authenticate.ts';

/** One call, as a transport hands it to `execute`. */
export interface Call {
  transport: 'rest' | 'mcp';
  requestId: string;
  caller: Caller | null;
  /** The client's address behind trusted proxies, for rate limits. */
  clientAddress: string;
  idempotencyKey: string | null;
  /** x402 proofs as they were sent, not yet read. Null: nothing can be paid here. */
  proofs: Proofs | null;
  /** The header SIGN-IN-WITH-X as it was sent. */
  signIn?: string | undefined;
  memory: RequestMemory;
  /** Aborts when the client disconnects. Paid work goes on. */
  signal: AbortSignal;
  /** The `_meta` of a message over MCP, which may name the trace that it belongs to. */
  trace?: Readonly<Record<string, unknown>> | undefined;
  /** The client takes a task, which is a job, in place of an answer that takes long. */
  takesTask?: true;
  /** Reports progress to a waiting MCP client. Absent when the client did not ask for it. */
  progress?: (update: { elapsedMs: number; message: string }) => void;
}

/** `payment`: made for this call alone. */
export type AccountCall = Call & { caller: Caller; payment?: JobPayment };

/** Watches a run of an operation, for telemetry. */
export type ObserveOperation = (
  operation: { name: string },
  call: Call,
  perform: () => Promise<Answer>,
) => Promise<Answer>;

export interface Idempotency {
  endpoint: string;
  key: string;
  bodyHash: string;
}

export interface OpenedJob {
  job: Job;
  isReplayed: boolean;
}

/** The settings that operations and transports read. */
export interface OperationSettings
  extends
    LimitSettings,
    WebhookSettings,
    Pick<JobSettings, 'chatDeadlineMs' | 'imageDeadlineMs'>,
    Pick<MediaSettings, 'mediaRetentionMs'> {
  brand: string;
  models: readonly ModelConfig[];
  search: SearchConfig;
  x402: { takesRealMoney: boolean; speaksMpp: boolean };
  wallets: WalletConfig;
  /** Host names of foreign web pages whose scripts may call /mcp, beside our own and local ones. */
  allowedOrigins: string[];
}

/** The parts of the gateway that operations and transports use. An operation's type names those that it takes. */
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
  /** Downloads an input into memory: images and audio. */
  fetchInput: FetchInput;
  /** Downloads an input as a stream: videos. */
  streamInput: StreamInput;
  /** The folder of videos that are being downloaded. */
  inputFolder: InputFolder;
  /** The routes of image and video SKUs. */
  providers: Pick<Providers, 'image' | 'video'>;
  /** The addresses of films. */
  films: Films;
  /** `{base_url}` without a trailing slash. */
  publicUrl: () => string;
}
