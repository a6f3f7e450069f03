import { join } from 'node:path';
import { accountLimits } from './catalog/account-limits.ts';
import { createCatalogs } from './catalog/catalog.ts';
import { openRealSales } from './catalog/open-real-sales.ts';
import { callWithin } from './kit/call-within.ts';
import { systemClock } from './kit/clock.ts';
import packageJson from '../package.json' with { type: 'json' };
import type { ModelConfig } from './catalog/model.ts';
import type { Config } from './config/config.ts';
import { brandTitle } from './kit/brand-title.ts';
import { randomBase62 } from './kit/ids.ts';
import { ifSold } from './jobs/if-sold.ts';
import { createJobRunner } from './jobs/job-runner.ts';
import { outliveOutage } from './jobs/outlive-outage.ts';
import { createRunChat } from './operations/chat/run-chat.ts';
import { createRunImage } from './operations/images/run-image.ts';
import { createRunResponses } from './operations/responses/run-responses.ts';
import { createRunVideo } from './operations/videos/run-video.ts';
import type { RedisConnection } from './cache/redis-connection.ts';
import type { LeadStatus } from './leads/lead-source.ts';
import { openLeads } from './leads/open-leads.ts';
import { createMemoryBudget } from './limits/memory-budget.ts';
import { createAccountLimiter } from './limits/account-limiter.ts';
import { createAddressLimiter } from './limits/address-limiter.ts';
import type { Log } from './kit/log.ts';
import { createFetchInput } from './media/fetch-input.ts';
import { createMediaFiles } from './media/create-media-files.ts';
import { createInputFolder } from './media/input-folder.ts';
import { createMediaLibrary } from './media/media-library.ts';
import { createStreamInput } from './media/stream-input.ts';
import { createSweeps, type PlaceState } from './media/sweeps.ts';
import { toVideoInput } from './media/to-video-input.ts';
import { ConfigError } from './kit/errors.ts';
import { describeSales } from './mcp/describe-sales.ts';
import { createHistoryCursors } from './operations/account/history-cursor.ts';
import { createOperations } from './operations/index.ts';
import type { Operation, Services } from './operations/operation.ts';
import { classifyLiteral } from './http/check-url.ts';
import { createOutbound } from './http/create-outbound.ts';
import { assignWallets } from './payments/generated-wallet.ts';
import { createProviders } from './providers/create-providers.ts';
import { isSandboxModel } from './providers/index.ts';
import { createX402Gate } from './purchases/x402/x402-gate.ts';
import { openStore } from './store/open-store.ts';
import { StoreError } from './store/store-error.ts';
import type { Job, Store } from './store/store.ts';
import { createWebhookDispatcher } from './webhooks/webhook-dispatcher.ts';

/** The services of the server, beside those of the operations. */
export interface GatewayServices extends Services {
  config: Config;
  operations: readonly Operation[];
  readiness(): Promise<Readiness>;
  /** Sets the public URL to the listening address if PUBLIC_URL is not set. */
  listeningAt(url: string): void;
  /** Lines that the operator should read at start. */
  notices(): string[];
  /** Starts the background work: jobs, payments that a crash interrupted, loading of large modules. */
  begin(): void;
  /** Stops taking queued work and waits for running work, at most DRAIN_MS. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

export interface Readiness {
  ready: boolean;
  /** True if the process is ending. */
  draining: boolean;
  store: StoreState;
  /**
   * `empty`: there are no profiles, so every search finds nobody. `not_on_sale`: there are only fictional profiles,
   * which are not sold for real money. Only `building` makes the gateway not ready.
   */
  search: 'ready' | 'empty' | 'building' | 'not_on_sale' | 'off';
  /** For information. The gateway is ready without it, because text and search do not need it. */
  media: PlaceState;
  payments: { network: string; label: string; ready: boolean }[];
}

/** `disk_full`: stored data can be read, but no new work is accepted. */
type StoreState = 'ready' | 'disk_full' | 'unavailable';

/** Supervisors wait a second or two for an answer; a frozen store would delay it. */
const probeTimeoutMs = 1_500;
/** A probe writes to the disk, and anybody may ask for readiness. */
const probeEveryMs = 1_000;

/** At its end the process waits this long for webhooks under way. Others are repeated by the next process. */
const webhookDrainMs = 2_000;

/** Wires the gateway and opens the store. Loads slower parts after it listens. Throws ConfigError if settings conflict. */
export const createServices = async (
  config: Config,
  log: Log,
  operations: readonly Operation[] = createOperations(config.search),
): Promise<GatewayServices> => {
  refuseLocalPublicUrl(config);
  const clock = systemClock;
  let listeningUrl = `http://${config.host}:${config.port}`;
  const publicUrl = (): string => config.publicUrl ?? listeningUrl;

  const store = await openStore(config, { log });
  const isServedBySandbox = (model: ModelConfig): boolean => isSandboxModel(model, config.providers);
  const realSales = await openRealSales(store, !config.models.every(isServedBySandbox));
  const redis = config.redisUrl === null ? null : await connectRedis(config.redisUrl, log);
  const outbound = createOutbound({
    allowsLoopback: config.allowsLoopbackUrls,
    userAgent: `${brandTitle(config)}/${packageJson.version}`,
  });
  const providers = await createProviders(config, { clock, log, outbound });
  const mediaFiles = await createMediaFiles(config, { log });
  const inputFolder = createInputFolder({ directory: join(config.dataDir, 'input-work') });
  const media = createMediaLibrary({ store, files: mediaFiles, clock, publicUrl });
  const catalogs = createCatalogs(config.models, {
    isSandboxModel: isServedBySandbox,
    realSales,
  });
  const isSold = async ({ id: jobId, accountId, model }: Job, signal: AbortSignal): Promise<boolean> => {
    const account = await outliveOutage(
      async () => {
        await catalogs.refresh();
        return store.getAccount(accountId);
      },
      { what: 'reading the account of a job', jobId, log, signal },
    );
    if (account === null) throw new Error(`there is no account ${accountId}`);
    // The account's own list of SKUs was checked when the job was admitted.
    const catalog = catalogs.for({ accountId, terms: null, isSandbox: account.isSandbox });
    return catalog.list().some(({ sku }) => sku === model);
  };
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
      video: ifSold(
        isSold,
        createRunVideo({
          routesFor: providers.video,
          openInput: toVideoInput(media),
          moderator: providers.moderator,
          saveResult: media.save,
          store,
          clock,
          log,
        }),
      ),
      image: ifSold(
        isSold,
        createRunImage({
          routesFor: providers.image,
          readInput: media.read,
          saveResult: media.save,
          keepMs: config.mediaRetentionMs,
          memoryBytes: config.bodyMemoryBytes,
          log,
        }),
      ),
    },
  });
  const { isOn: isSearchOn } = config.search;
  const sources = isSearchOn ? config.leads.sources : [];
  const leads = await openLeads({ ...config, leads: { ...config.leads, sources } }, { redis, log });
  const networks = isSearchOn ? config.x402.networks : [];
  const wallets = await assignWallets({
    networks,
    dataDir: config.dataDir,
    agreeOn: (value) => store.getOrCreateSecret({ name: 'x402-generated-wallet', value }),
  });
  const x402 = createX402Gate({
    store,
    networks: wallets.networks,
    publicUrl,
    sales: describeSales(operations, { serviceName: brandTitle(config), services: () => services }),
    clock,
    log,
    owner: jobs.owner,
    headerBytes: config.x402.headerBytes,
    timeouts: { settleMs: config.x402.settleMs },
    uncheckedLimit: config.x402.uncheckedLimit,
  });
  const addressLimiters = new Map(
    operations.flatMap(({ name, sale }) =>
      sale?.x402 === undefined ? [] : [[name, createAddressLimiter({ ...sale.x402, redis, log })]],
    ),
  );
  const accountLimiter = createAccountLimiter({
    limitOf: (caller) => accountLimits(caller, { catalogs, config }).requestsPerMinute,
    redis,
  });
  const sweeps = createSweeps({ store, files: mediaFiles, inputFolder, clock, log });
  const background = new AbortController();
  const probeStore = createStoreProbe(store);

  const services: GatewayServices = {
    config,
    clock,
    log,
    store,
    catalogs,
    operations,
    jobs,
    leads,
    x402,
    addressLimiters,
    accountLimiter,
    historyCursors: createHistoryCursors(() =>
      store.getOrCreateSecret({ name: 'history-cursors', value: randomBase62(43) }),
    ),
    bodyMemory: createMemoryBudget({ totalBytes: config.bodyMemoryBytes }),
    publicUrl,
    media,
    providers,
    outbound,
    fetchInput: createFetchInput({ download: outbound.download, memoryBytes: config.bodyMemoryBytes }),
    streamInput: createStreamInput({ download: outbound.download }),
    inputFolder,
    readiness: async () => {
      const storeState = await probeStore();
      const search = searchState(config, leads.status());
      return {
        ready: storeState === 'ready' && search !== 'building' && !jobs.isDraining(),
        draining: jobs.isDraining(),
        store: storeState,
        search,
        media: sweeps.place(),
        payments: x402.status().map(({ network, label, ready }) => ({ network, label, ready })),
      };
    },
    listeningAt: (url) => {
      listeningUrl = url;
    },
    notices: () =>
      startNotices(config, {
        walletNotice: wallets.notice,
        leads: leads.status(),
        isRealSold: realSales.hasBegun(),
      }),
    begin: () => {
      void redis?.check();
      jobs.begin();
      webhooks.begin();
      void sweeps.begin(background.signal);
      void providers.warmUp(background.signal).catch((error: unknown) => {
        if (!background.signal.aborted) log.error({ err: error }, 'loading the providers failed');
      });
      if (!isSearchOn) return;
      void x402
        .warmUp()
        .catch((error: unknown) => log.error({ err: error }, 'asking the facilitators failed'));
      void x402.begin(background.signal);
    },
    drain: async () => {
      await jobs.drain(config.drainMs);
      // Announces the ends of the last jobs before the process ends.
      await webhooks.drain(webhookDrainMs);
    },
    close: async () => {
      background.abort();
      await Promise.all([
        x402.close(),
        leads.close(),
        providers.close(),
        ...[...addressLimiters.values()].map((limiter) => limiter.close()),
        accountLimiter.close(),
        outbound.close(),
      ]);
      await redis?.close();
      await store.close();
    },
  };
  return services;
};

/** Probes the store at most once in `probeEveryMs`, and returns the same answer to everybody who asks meanwhile. */
const createStoreProbe = (store: Store): (() => Promise<StoreState>) => {
  let lastAt = -Infinity;
  let last: Promise<StoreState>;
  return () => {
    const now = performance.now();
    if (now - lastAt >= probeEveryMs) {
      lastAt = now;
      last = callWithin({ call: () => store.probe(), timeoutMs: probeTimeoutMs }).then(
        () => 'ready',
        (error: unknown) =>
          error instanceof StoreError && error.reason === 'full' ? 'disk_full' : 'unavailable',
      );
    }
    return last;
  };
};

/** Buyers sign this address for real money, so it must not be an address of their own machine. */
const refuseLocalPublicUrl = ({ publicUrl, search, x402 }: Config): void => {
  if (!search.isOn || !x402.takesRealMoney) return;
  const why = 'set the address that buyers use, as X402_NETWORKS names main networks';
  if (publicUrl === null) throw new ConfigError(`PUBLIC_URL: is not set; ${why}`);
  const host = new URL(publicUrl).hostname.replace(/^\[(.*)\]$/, '$1');
  if (classifyLiteral(host) === 'loopback' || host === '0.0.0.0' || host === '::')
    throw new ConfigError(`PUBLIC_URL: ${publicUrl} is an address of this machine alone; ${why}`);
};

/** Loaded only if it is used, because loading the client takes a third of a second. */
const connectRedis = async (url: string, log: Log): Promise<RedisConnection> => {
  const { createRedisConnection } = await import('./cache/redis-connection.ts');
  return createRedisConnection({ url, log });
};

const searchState = (
  { search, x402 }: Config,
  { ready, synthetic, profiles }: LeadStatus,
): Readiness['search'] => {
  if (!search.isOn) return 'off';
  if (synthetic && x402.takesRealMoney) return 'not_on_sale';
  if (!ready) return 'building';
  return profiles === 0 ? 'empty' : 'ready';
};

const searchNotices = (config: Config, leads: LeadStatus): string[] => {
  switch (searchState(config, leads)) {
    case 'off':
      return ['The search is switched off: X402_NETWORKS or LEADS_SOURCES is none.'];
    case 'not_on_sale':
      return [
        'The search is not on sale: only fictional profiles are there, and X402_NETWORKS names main networks. ' +
          'Import profiles (leads import) or name another source (LEADS_SOURCES).',
      ];
    case 'empty':
      return ['There are no profiles to search: every search finds nobody, and costs nothing.'];
    case 'building':
    case 'ready':
      return leads.synthetic ? ['Searches run over a generated, fictional data set.'] : [];
  }
};

const startNotices = (
  config: Config,
  {
    walletNotice,
    leads,
    isRealSold,
  }: { walletNotice: string | null; leads: LeadStatus; isRealSold: boolean },
): string[] => {
  const isSandbox = config.models.some((model) => isSandboxModel(model, config.providers));
  const isPublic = !['127.0.0.1', 'localhost', '::1'].includes(config.host);
  const networks = config.search.isOn ? config.x402.networks : [];
  const remote = networks.flatMap(({ facilitator }) =>
    facilitator.kind === 'remote' ? facilitator.endpoints.map(({ url }) => url) : [],
  );
  return [
    ...config.unknownVariables.map(
      (name) => `${name} is set, but there is no such setting (docs/configuration.md).`,
    ),
    ...(isSandbox
      ? [
          `Models without a configured provider are served by the sandbox: no real model answers.${isRealSold ? ' They are for sandbox accounts only (accounts create --sandbox).' : ''}`,
        ]
      : []),
    ...(isPublic && config.publicUrl === null
      ? ['PUBLIC_URL is not set: result URLs and payment terms name this machine as localhost.']
      : []),
    ...searchNotices(config, leads),
    ...(walletNotice === null ? [] : [walletNotice]),
    ...[...new Set(remote)].map((url) => `Payments are verified and settled by the facilitator at ${url}.`),
    ...networks
      .filter(({ facilitator }) => facilitator.kind === 'remote' && facilitator.rpcUrl === null)
      .map(
        ({ network }) =>
          `What becomes of payments on ${network} is asked of a public node: set a node of your own (rpc_url).`,
      ),
  ];
};
