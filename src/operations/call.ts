import type { Catalogs } from '../accounts/catalog/catalog.ts';
import type { WalletConfig } from '../accounts/catalog/wallet-settings.ts';
import type { Clock } from '../kit/clock.ts';
import type { Nano } from '../kit/money.ts';
import type { ModelConfig } from '../accounts/catalog/model.ts';
import type { JobRunner } from '../jobs/job-runner.ts';
import type { JobSettings } from '../jobs/job-settings.ts';
import type { Leads } from '../leads/lead-source.ts';
import type { AccountLimiter, RateLeft } from '../limits/minute-limit.ts';
import type { AddressLimiter } from '../limits/address-limiter.ts';
import type { LimitSettings } from '../limits/limit-settings.ts';
import type { MemoryBudget } from '../limits/memory-budget.ts';
import type { RequestMemory } from '../limits/request-memory.ts';
import type { Log } from '../kit/log.ts';
import type { Mounts } from '../mounts/create-mounts.ts';
import type { MountConfig } from '../mounts/mount-settings.ts';
import type { ToolProgress } from '../mounts/mounted-server.ts';
import type { FetchInput } from '../media/fetch-input.ts';
import type { InputFolder } from '../media/input-folder.ts';
import type { MediaSettings } from '../media/media-settings.ts';
import type { MediaLibrary } from '../media/media-library.ts';
import type { StreamInput } from '../media/stream-input.ts';
import type { Providers } from '../providers/create-providers.ts';
import type { Cards } from '../payments/cards/create-cards.ts';
import type { Dialect, Proofs, X402Gate } from '../payments/sale/gate.ts';
import type { Job, JobPayment, Payment, Store } from '../store/store.ts';
import type { WebhookSettings } from '../jobs/webhooks/webhook-settings.ts';
import type { HistoryCursors } from './account/history-cursor.ts';
import type { Answer } from './answer.ts';
import type { SearchConfig } from './search/search-settings.ts';
import type { Films } from './videos/films.ts';
import type { UsageTags } from '../accounts/usage-tags.ts';
import type { Caller } from '../accounts/authenticate.ts';

/** One call, as a transport hands it to `execute`. */
export interface Call {
  transport: 'rest' | 'mcp';
  requestId: string;
  caller: Caller | null;
  /** The client's address behind trusted proxies, for rate limits. */
  clientAddress: string;
  idempotencyKey: string | null;
  /** The tag under which its use is counted, in place of the key's. */
  usageTag?: string | null;
  /** x402 proofs as they were sent, not yet read. Null: nothing can be paid here. */
  proofs: Proofs | null;
  /** The header SIGN-IN-WITH-X as it was sent. */
  signIn?: string | undefined;
  memory: RequestMemory;
  /** Is told what is left of the limit that counted the call. Absent: the caller does not read it. */
  rate?: { left?: RateLeft };
  /** Aborts when the client disconnects. Paid work goes on. */
  signal: AbortSignal;
  /** The `_meta` of a message over MCP, which may name the trace that it belongs to. */
  trace?: Readonly<Record<string, unknown>> | undefined;
  /** The client takes a task, which is a job, in place of an answer that takes long. */
  takesTask?: true;
  /** A refusal for want of balance may name a page that tells a person how to add money. */
  asksForMoney?: true;
  /** Reports progress to a waiting MCP client; without a number, a sign of life. Absent when it did not ask for it. */
  progress?: (update: Partial<ToolProgress>) => void;
  /** Aborts when the client cancels the call. Absent when it has no way to say so. */
  cancelled?: AbortSignal;
}

/**
 * `payment`: made for this call alone. `bought`: the payment whose proof came in place of a key; it reads nothing else.
 * `asksAbove`: at a higher price than `limit`, the call needs a confirmation.
 */
export type AccountCall = Call & {
  caller: Caller;
  payment?: JobPayment;
  bought?: Payment;
  asksAbove?: { limit: Nano; callHash: string };
};

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
  /** True: people may sign in at /console. */
  hasConsole: boolean;
  models: readonly ModelConfig[];
  search: SearchConfig;
  x402: { takesRealMoney: boolean; dialects: readonly Dialect[] };
  wallets: WalletConfig;
  mounts: readonly MountConfig[];
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
  /** Null: nothing is sold by card. */
  cards: Cards | null;
  /** By operation: the limits of calls that are paid by x402. */
  addressLimiters: ReadonlyMap<string, AddressLimiter>;
  accountLimiter: AccountLimiter;
  usageTags: UsageTags;
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
  /** The MCP servers of others, whose tools are offered. */
  mounts: Mounts;
  /** `{base_url}` without a trailing slash. */
  publicUrl: () => string;
}
