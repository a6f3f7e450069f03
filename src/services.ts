import { join } from 'node:path';
import { accountLimits } from './catalog/account-limits.ts';
import { createCatalogs } from './catalog/catalog.ts';
import { systemClock } from './clock.ts';
import packageJson from '../package.json' with { type: 'json' };
import { brandTitle, isSandboxModel, type Config } from './config.ts';
import { randomBase62 } from './ids.ts';
import { createJobRunner } from './jobs/job-runner.ts';
import { createRunChat } from './jobs/run-chat.ts';
import { createRunImage } from './jobs/run-image.ts';
import { createRunResponses } from './jobs/run-responses.ts';
import { createRunVideo } from './jobs/run-video.ts';
import type { RedisConnection } from './cache/redis-connection.ts';
import type { LeadStatus } from './leads/lead-source.ts';
import { openLeads } from './leads/open-leads.ts';
import { createMemoryBudget } from './limits/memory-budget.ts';
import { createAccountLimiter } from './limits/account-limiter.ts';
import { createSearchLimiter } from './limits/search-limiter.ts';
import type { Log } from './log.ts';
import { createFetchInput } from './media/fetch-input.ts';
import { createMediaFiles } from './media/create-media-files.ts';
import { createInputFolder } from './media/input-folder.ts';
import { createMediaLibrary } from './media/media-library.ts';
import { createStreamInput } from './media/stream-input.ts';
import { createSweeps, type PlaceState } from './media/sweeps.ts';
import { toVideoInput } from './media/to-video-input.ts';
import { describeSearch } from './mcp/describe-search.ts';
import { createHistoryCursors } from './operations/history-cursor.ts';
import { createOperations } from './operations/index.ts';
import type { Operation, Services } from './operations/operation.ts';
import { createOutbound } from './outbound/create-outbound.ts';
import { assignWallets } from './payments/generated-wallet.ts';
import { createProviders } from './providers/create-providers.ts';
import { createX402Gate } from './purchases/x402-gate.ts';
import { openStore } from './store/open-store.ts';
import { createWebhookDispatcher } from './webhooks/webhook-dispatcher.ts';

/** What the server needs beside what operations need. */
export interface GatewayServices extends Services {
  operations: readonly Operation[];
  readiness(): Promise<Readiness>;
  /** Tells the address that the server listens on, where PUBLIC_URL was not set. */
  listeningAt(url: string): void;
  /** What the operator should know at start, a line each. */
  notices(): string[];
  /** Starts what goes on in the background: jobs, payments that a crash left half-way, heavy modules. */
  begin(): void;
  /** Takes no more queued work and waits for what runs, at most DRAIN_MS. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

export interface Readiness {
  ready: boolean;
  store: 'ready' | 'unavailable';
  search: 'ready' | 'building';
  /** Told, but no condition of `ready`: text and search go on without it. */
  media: PlaceState;
  payments: { network: string; label: string; ready: boolean }[];
}

/** How long a process that ends waits for callbacks under way; the next one repeats what was broken off. */
const webhookDrainMs = 2_000;

/** The whole gateway, wired. Opens the store; everything slower is loaded after it listens. */
export const createServices = async (config: Config, log: Log): Promise<GatewayServices> => {
  const clock = systemClock;
  let listeningUrl = `http://${config.host}:${config.port}`;
  const publicUrl = (): string => config.publicUrl ?? listeningUrl;

  const store = await openStore(config, { log });
  const redis = config.redisUrl === null ? null : await connectRedis(config.redisUrl, log);
  const outbound = createOutbound({
    allowsLoopback: config.allowsLoopbackUrls,
    userAgent: `${brandTitle(config)}/${packageJson.version}`,
  });
  const providers = createProviders(config, { clock, log, outbound });
  const mediaFiles = await createMediaFiles(config, { log });
  const inputFolder = createInputFolder({ directory: join(config.dataDir, 'input-work') });
  const media = createMediaLibrary({ store, files: mediaFiles, clock, publicUrl });
  const webhooks = createWebhookDispatcher({ store, outbound, clock, log, brand: config.brand });
  const jobs = createJobRunner({
    store,
    clock,
    log,
    concurrency: { image: config.queuedJobsAtOnce, video: config.videoJobsAtOnce },
    resumable: ['video'],
    onWebhook: webhooks.wake,
    executors: {
      chat: createRunChat({ routesFor: providers.text, log }),
      responses: createRunResponses({ routesFor: providers.text, clock, log }),
      video: createRunVideo({
        routesFor: providers.video,
        openInput: toVideoInput(media),
        moderator: providers.moderator,
        saveResult: media.save,
        clock,
        log,
      }),
      image: createRunImage({
        routesFor: providers.image,
        readInput: media.read,
        saveResult: media.save,
        keepMs: config.mediaRetentionMs,
        memoryBytes: config.bodyMemoryBytes,
        log,
      }),
    },
  });
  const leads = await openLeads(config, { redis, log });
  const wallets = await assignWallets({ networks: config.x402.networks, dataDir: config.dataDir });
  const operations = createOperations(config.search);
  const discovery = describeSearch(operations, { serviceName: brandTitle(config) });
  const x402 = createX402Gate({
    store,
    networks: wallets.networks,
    publicUrl,
    ...(discovery === null ? {} : { discovery }),
    clock,
    log,
    owner: jobs.owner,
    pricing: config.search.pricing,
    headerBytes: config.x402.headerBytes,
    describe: () =>
      leads.status().synthetic ? 'Influencer search over generated, fictional profiles' : 'Influencer search',
  });
  const searchLimiter = createSearchLimiter({ ratePerMinute: config.search.ratePerMinute, redis, log });
  const catalogs = createCatalogs(config.models);
  const accountLimiter = createAccountLimiter({
    limitOf: (caller) => accountLimits(caller, { catalogs, config }).requestsPerMinute,
    redis,
  });
  const sweeps = createSweeps({ store, files: mediaFiles, inputFolder, clock, log });
  const background = new AbortController();

  return {
    config,
    clock,
    log,
    store,
    catalogs,
    operations,
    jobs,
    leads,
    x402,
    searchLimiter,
    accountLimiter,
    historyCursors: createHistoryCursors(() =>
      store.getOrCreateSecret({ name: 'history-cursors', value: randomBase62(43) }),
    ),
    bodyMemory: createMemoryBudget({ totalBytes: config.bodyMemoryBytes }),
    publicUrl,
    media,
    outbound,
    fetchInput: createFetchInput({ download: outbound.download, memoryBytes: config.bodyMemoryBytes }),
    streamInput: createStreamInput({ download: outbound.download }),
    inputFolder,
    readiness: async () => {
      const isStoreReady = await store.ping().then(
        () => true,
        () => false,
      );
      const isSearchReady = leads.status().ready;
      return {
        ready: isStoreReady && isSearchReady && !jobs.isDraining(),
        store: isStoreReady ? 'ready' : 'unavailable',
        search: isSearchReady ? 'ready' : 'building',
        media: sweeps.place(),
        payments: x402.status().map(({ network, label, ready }) => ({ network, label, ready })),
      };
    },
    listeningAt: (url) => {
      listeningUrl = url;
    },
    notices: () => startNotices(config, { walletNotice: wallets.notice, leads: leads.status() }),
    begin: () => {
      jobs.begin();
      webhooks.begin();
      void sweeps.begin(background.signal);
      void providers.warmUp(background.signal).catch((error: unknown) => {
        if (!background.signal.aborted) log.error({ err: error }, 'loading the providers failed');
      });
      void x402
        .warmUp()
        .catch((error: unknown) => log.error({ err: error }, 'asking the facilitators failed'));
      void x402.begin(background.signal);
    },
    drain: async () => {
      await jobs.drain(config.drainMs);
      // The ends of the last jobs are announced before the process goes.
      await webhooks.drain(webhookDrainMs);
    },
    close: async () => {
      background.abort();
      await Promise.all([
        x402.close(),
        leads.close(),
        providers.close(),
        searchLimiter.close(),
        accountLimiter.close(),
        outbound.close(),
      ]);
      await redis?.close();
      await store.close();
    },
  };
};

/** Loaded only where it is used: the client costs a third of a second of start. */
const connectRedis = async (url: string, log: Log): Promise<RedisConnection> => {
  const { createRedisConnection } = await import('./cache/redis-connection.ts');
  return createRedisConnection({ url, log });
};

const startNotices = (
  config: Config,
  { walletNotice, leads }: { walletNotice: string | null; leads: LeadStatus },
): string[] => {
  const isSandbox = config.models.some((model) => isSandboxModel(model, config.providers));
  const isPublic = !['127.0.0.1', 'localhost', '::1'].includes(config.host);
  const remote = config.x402.networks.flatMap(({ facilitator }) =>
    facilitator.kind === 'remote' ? facilitator.endpoints.map(({ url }) => url) : [],
  );
  return [
    ...(isSandbox
      ? ['Models without a configured provider are served by the sandbox: no real model answers.']
      : []),
    ...(isPublic && config.publicUrl === null
      ? ['PUBLIC_URL is not set: result URLs and payment terms name this machine as localhost.']
      : []),
    ...(leads.synthetic ? ['Searches run over a generated, fictional data set.'] : []),
    ...(walletNotice === null ? [] : [walletNotice]),
    ...[...new Set(remote)].map((url) => `Payments are verified and settled by the facilitator at ${url}.`),
    ...config.x402.networks
      .filter(({ facilitator }) => facilitator.kind === 'remote' && facilitator.rpcUrl === null)
      .map(
        ({ network }) =>
          `What becomes of payments on ${network} is asked of a public node: set a node of your own (rpc_url).`,
      ),
  ];
};
