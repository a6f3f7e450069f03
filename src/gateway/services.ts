import { join } from 'node:path';
import { systemClock } from '../kit/clock.ts';
import { followEveryMs, type ModelShelf } from '../accounts/catalog/model-changes.ts';
import { createLastUse, type LastUse } from '../accounts/last-use.ts';
import type { Config } from '../config/config.ts';
import type { Reloaded } from '../config/reload.ts';
import { refuseLocalPublicUrl } from '../config/server-settings.ts';
import { createPublicUrl } from '../kit/public-url.ts';
import { pause, repeat } from '../kit/repeat.ts';
import { brandTitle } from '../kit/text.ts';
import { randomBase62 } from '../kit/ids.ts';
import { createJobRunner, type JobRunner } from '../jobs/job-runner.ts';
import { createRunAnswer } from '../operations/prepaid-answer.ts';
import { createRunChat } from '../operations/chat/run-chat.ts';
import { createRunImage } from '../operations/images/run-image.ts';
import { createRunResponses } from '../operations/responses/run-responses.ts';
import { toVideoEvent } from '../operations/videos/video-answer.ts';
import { createRunVideo } from '../operations/videos/run-video.ts';
import type { RedisConnection } from '../limits/redis-connection.ts';
import { openForgottenPeople } from '../leads/forgotten-people.ts';
import { createLeadTasks, type LeadTasks } from '../leads/lead-tasks.ts';
import { moveForgottenLists } from '../leads/move-forgotten-list.ts';
import { openLeads } from '../leads/open-leads.ts';
import { createMemoryBudget } from '../limits/memory-budget.ts';
import type { AddressLimiter } from '../limits/address-limiter.ts';
import type { Log } from '../kit/log.ts';
import { createFetchInput } from '../media/fetch-input.ts';
import { createMediaFiles } from '../media/create-media-files.ts';
import { createInputFolder } from '../media/input-folder.ts';
import { createMediaLibrary, toVideoInput } from '../media/media-library.ts';
import { createStreamInput } from '../media/stream-input.ts';
import { createSweeps, type Sweeps } from '../media/sweeps.ts';
import { describeSales } from './describe-sales.ts';
import { createFilms } from '../operations/videos/films.ts';
import { createHistoryCursors } from '../operations/account/history-cursor.ts';
import { createMounts } from '../mounts/create-mounts.ts';
import { createRunTool, outcomeUnknown } from '../operations/tools/run-tool.ts';
import { createOperations } from '../operations/index.ts';
import type { Services } from '../operations/call.ts';
import type { Operation } from '../operations/definition.ts';
import { unknownWallet } from '../operations/per-call-sale.ts';
import type { Outbound } from '../http/outbound.ts';
import { createOutbound } from '../http/create-outbound.ts';
import { assignWallets } from '../payments/chains/generated-wallet.ts';
import { createProviders, type Providers } from '../providers/create-providers.ts';
import type { Buyer } from '../payments/buying/create-buyer.ts';
import { paidUpstreams } from '../payments/buying/paid-upstreams.ts';
import { createCards, type CardsOptions } from '../payments/cards/create-cards.ts';
import type { StripeAddress } from '../payments/cards/stripe-client.ts';
import { createX402Gate, type X402GateOptions } from '../payments/sale/gate.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import { createLimiters } from './limiters.ts';
import { createReadiness, type Readiness } from './readiness.ts';
import { createReload, openModels } from './open-models.ts';
import { startNotices } from './start-notices.ts';
import { watchAlerts } from './watch-alerts.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { createWebhookDispatcher, type WebhookDispatcher } from '../jobs/webhooks/webhook-dispatcher.ts';
import { ifSold } from '../operations/media/media-job.ts';

import packageJson from '../../package.json' with { type: 'json' };

/** The services of the server, beside those of the operations. */
export interface GatewayServices extends Services {
  config: Config;
  operations: readonly Operation[];
  lastUse: LastUse;
  /** The models that are on sale. */
  shelf: ModelShelf;
  /** Reads the settings again, and applies what can be. Rejects with ConfigError, and then nothing has changed. */
  reload: () => Promise<Reloaded>;
  providers: Providers;
  outbound: Outbound;
  /** Null: no upstream is paid by x402. */
  buyer: Buyer | null;
  /** Changes the imported profiles. */
  leadTasks: LeadTasks;
  /** Limits the calls of the operator's API that fail for want of a key. */
  failedOperatorCalls: AddressLimiter;
  /** Limits the sign-ins to the console that fail. */
  failedSignIns: AddressLimiter;
  preparedTransfers: AddressLimiter;
  /** Null: none is configured. */
  telemetry: Telemetry | null;
  readiness(): Promise<Readiness>;
  /** Sets the public URL to the listening address if PUBLIC_URL is not set. */
  listeningAt(url: string): void;
  notices(): string[];
  /** Starts the background work: jobs, payments that a crash interrupted, loading of large modules. */
  begin(): void;
  /** Stops taking queued work and waits for running work, at most DRAIN_MS. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** At its end the process waits this long for webhooks under way. Others are repeated by the next process. */
const webhookDrainMs = 2_000;

/** The background work is awaited so long: it may be in the middle of a write. */
const lastWorkMs = 2_000;

export interface ServiceOptions {
  /** In place of all. */
  operations?: readonly Operation[] | undefined;
  telemetry?: Telemetry | null;
  /** Reads the settings again. Default: they stay as they are. */
  loadConfig?: () => Promise<Config>;
  /** Where Stripe is, in tests. */
  stripe?: StripeAddress | undefined;
  /** The embedded store works in this thread, in tests, which are about something else. */
  inThisThread?: boolean;
}

/** Wires the gateway and opens the store. Loads slower parts after it listens. Throws ConfigError if settings conflict. */
export const createServices = async (
  config: Config,
  log: Log,
  {
    operations = createOperations(config.search, config, config.wallets, config),
    telemetry = null,
    loadConfig = () => Promise.resolve(config),
    stripe,
    inThisThread,
  }: ServiceOptions = {},
): Promise<GatewayServices> => {
  refuseLocalPublicUrl(config);
  const clock = systemClock;
  const { publicUrl, listeningAt } = createPublicUrl(
    config.publicUrl,
    `http://${config.host}:${config.port}`,
  );

  const store = await openWatchedStore(config, { log, telemetry, inThisThread });
  const { catalogs, realSales, shelf } = await openModels(config, { store, clock });
  const base = { config, store, catalogs, clock, log, telemetry };
  const redis = config.redisUrl === null ? null : await connectRedis(config.redisUrl, log);
  const outbound = createOutbound({
    allowsLoopback: config.allowsLoopbackUrls,
    userAgent: `${brandTitle(config)}/${packageJson.version}`,
  });
  const buyer = await openBuyer(config, { store, clock, log });
  const providers = await createProviders(config, { clock, log, outbound, telemetry, ...buyer });
  const files = await createMediaFiles(config, { log });
  const inputFolder = createInputFolder({ directory: join(config.dataDir, 'input-work') });
  const media = createMediaLibrary({ store, files, clock, publicUrl });
  const webhooks = createWebhookDispatcher({ ...config, ...base, outbound });
  const mounted = createMounts({ ...base, ...buyer, outbound, publicUrl, version: packageJson.version });
  const mounts = telemetry?.observeMounts(mounted) ?? mounted;
  const jobs = createJobs({ ...base, providers, media, mounts, webhooks });
  const { leads, leadTasks } = await openWatchedLeads(config, { store, redis, log, telemetry, buyer });
  const sales = describeAll(config, { operations, catalogs, services: () => services });
  const { owner } = jobs;
  const { wallets, x402 } = await openPayments(config, { store, publicUrl, sales, clock, log, owner });
  const sweeps = createSweeps({ store, files, inputFolder, clock, log });
  const lastUse = createLastUse(base);
  const cards = openCards(config, { ...base, address: stripe });
  const opened = { ...base, operations, lastUse, jobs, leads, x402, cards, providers, buyer, shelf };
  const services: GatewayServices = {
    ...opened,
    reload: createReload(config, { loadConfig, providers, shelf, log }),
    observeOperation: telemetry?.observeOperation,
    ...createLimiters({ config, operations, redis, log, store }),
    ...(await openSigned(store, publicUrl)),
    bodyMemory: createMemoryBudget({ totalBytes: config.bodyMemoryBytes }),
    publicUrl,
    media,
    mounts,
    leadTasks,
    outbound,
    fetchInput: createFetchInput({ download: outbound.download, memoryBytes: config.bodyMemoryBytes }),
    streamInput: createStreamInput({ download: outbound.download }),
    inputFolder,
    readiness: createReadiness(config, { store, jobs, leads, sweeps, x402, mounts }),
    listeningAt,
    notices: () => startNotices(config, { wallets, leads, realSales, telemetry }),
    ...createLifecycle({ ...opened, mounts, webhooks, sweeps, outbound, redis }),
  };
  telemetry?.begin({ ...services, providers });
  return services;
};

/** What is opened on the way to the services. */
interface Parts extends GatewayServices {
  webhooks: WebhookDispatcher;
  sweeps: Sweeps;
  redis: RedisConnection | null;
}

type Base = Pick<Parts, 'config' | 'store' | 'catalogs' | 'clock' | 'log' | 'telemetry'>;

const openWatchedStore = async (
  config: Config,
  { log, telemetry, inThisThread }: Pick<Parts, 'log' | 'telemetry'> & Pick<ServiceOptions, 'inThisThread'>,
): Promise<Store> => {
  const store = await openStore(config, { log, inThisThread, onGroup: telemetry?.observeGroup });
  return telemetry?.observeStore(store) ?? store;
};

const openWatchedLeads = async (
  config: Config,
  parts: Pick<Parts, 'store' | 'redis' | 'log' | 'telemetry' | 'buyer'>,
): Promise<Pick<Parts, 'leads' | 'leadTasks'>> => {
  const { store, redis, log, telemetry, buyer } = parts;
  const sources = config.search.isOn ? config.leads.sources : [];
  await moveForgottenLists(config, store);
  const people = await openForgottenPeople(store);
  const leadTasks = createLeadTasks(config);
  const opened = await openLeads(
    { ...config, leads: { ...config.leads, sources } },
    { redis, log, people, payFor: buyer?.payForSearches, sweep: leadTasks.sweep },
  );
  const close = async (): Promise<void> => {
    await opened.close();
    await leadTasks.close();
  };
  const leads = { ...opened, close };
  return { leads: telemetry?.observeLeads(leads) ?? leads, leadTasks };
};

/** What is signed by secrets of the deployment. */
const openSigned = async (store: Store, publicUrl: () => string) => {
  const secretOf = (name: string): Promise<string> =>
    store.getOrCreateSecret({ name, value: randomBase62(43) });
  return {
    historyCursors: createHistoryCursors(await secretOf('history-cursors')),
    films: createFilms({ secret: await secretOf('films'), publicUrl }),
  };
};

/** Loaded only where an upstream is paid. Throws ConfigError. */
const openBuyer = async (
  config: Config,
  parts: Pick<Parts, 'store' | 'clock' | 'log'>,
): Promise<Buyer | null> => {
  if (paidUpstreams(config).length === 0) return null;
  const { createBuyer } = await import('../payments/buying/create-buyer.ts');
  const { wallets, x402 } = config;
  const soldForTestMoney = { searches: !x402.takesRealMoney, tools: wallets.isOn && !x402.takesRealMoney };
  return createBuyer({ ...parts, sold: x402.networks, soldForTestMoney });
};

/** Describes what is sold, with examples that name SKUs which a wallet can buy. */
const describeAll = (
  config: Config,
  { operations, catalogs, services }: Pick<Parts, 'operations' | 'catalogs'> & { services: () => Services },
) =>
  describeSales(operations, {
    serviceName: brandTitle(config),
    models: catalogs.for(unknownWallet({ config })).list(),
    services,
  });

const openCards = ({ cards: settings, ...config }: Config, parts: Omit<CardsOptions, 'settings' | 'goods'>) =>
  settings === null ? null : createCards({ ...parts, settings, goods: `${brandTitle(config)} balance` });

type PaymentParts = Pick<X402GateOptions, 'store' | 'publicUrl' | 'sales' | 'clock' | 'log' | 'owner'>;

const openPayments = async ({ x402, dataDir }: Config, parts: PaymentParts) => {
  const wallets = await assignWallets({
    networks: x402.isOn ? x402.networks : [],
    dataDir,
    agreeOn: (value) => parts.store.getOrCreateSecret({ name: 'x402-generated-wallet', value }),
  });
  const gate = createX402Gate({
    ...parts,
    networks: wallets.networks,
    headerBytes: x402.headerBytes,
    timeouts: { settleMs: x402.settleMs },
  });
  return { wallets, x402: gate };
};

const createJobs = (parts: Base & Pick<Parts, 'providers' | 'media' | 'mounts' | 'webhooks'>): JobRunner => {
  const { config, store, catalogs, providers, media, webhooks, clock, log, telemetry } = parts;
  const work = { ...parts, ...providers, costOf: catalogs.costOf, saveResult: media.save };
  const { mediaRetentionMs: keepMs, bodyMemoryBytes: memoryBytes } = config;
  const { text, video, image } = providers;
  const executors = {
    chat: createRunChat({ ...work, routesFor: text }),
    responses: createRunResponses({ ...work, routesFor: text }),
    search: createRunAnswer(work),
    tool: createRunTool(work),
    video: ifSold(work, createRunVideo({ ...work, routesFor: video, openInput: toVideoInput(media) })),
    image: ifSold(
      work,
      createRunImage({ ...work, routesFor: image, readInput: media.read, keepMs, memoryBytes }),
    ),
  };
  return createJobRunner({
    store,
    clock,
    log,
    runnable: providers.runnable,
    concurrency: { image: config.queuedJobsAtOnce, video: config.videoJobsAtOnce },
    resumable: ['video'],
    onWebhook: webhooks.wake,
    eventBodies: { video: toVideoEvent },
    lostErrors: { tool: outcomeUnknown },
    executors: telemetry?.observeExecutors(executors) ?? executors,
  });
};

type LifecycleParts = Base &
  Pick<Parts, 'lastUse' | 'jobs' | 'webhooks' | 'sweeps' | 'x402' | 'cards' | 'shelf'> &
  Pick<Parts, 'leads' | 'mounts' | 'outbound' | 'providers' | 'redis' | 'buyer'>;

/** Begins the background work, and ends all that was opened. */
const createLifecycle = (parts: LifecycleParts): Pick<GatewayServices, 'begin' | 'drain' | 'close'> => {
  const { config, log, store, lastUse, jobs, webhooks, sweeps, providers, shelf } = parts;
  const { x402, cards, leads, mounts, outbound, redis, telemetry, buyer } = parts;
  const background = new AbortController();
  /** Ends soon after `background` aborts. */
  let work: Promise<void>[] = [];
  return {
    begin: () => {
      void redis?.check();
      jobs.begin();
      webhooks.begin();
      mounts.begin();
      const follow = repeat({
        what: 'reading what operators changed of models',
        intervalMs: followEveryMs,
        signal: background.signal,
        log,
        work: shelf.follow,
      });
      const begun = [buyer, sweeps, lastUse, cards].filter((part) => part !== null);
      work = [
        follow,
        watchAlerts(parts, background.signal),
        ...begun.map((part) => part.begin(background.signal)),
      ];
      void providers.warmUp(background.signal).catch((error: unknown) => {
        if (!background.signal.aborted) log.error({ err: error }, 'loading the providers failed');
      });
      if (!config.x402.isOn) return;
      void x402
        .warmUp()
        .catch((error: unknown) => log.error({ err: error }, 'asking the facilitators failed'));
      work.push(x402.begin(background.signal));
    },
    drain: async () => {
      await jobs.drain(config.drainMs);
      // Announces the ends of the last jobs before the process ends.
      await webhooks.drain(webhookDrainMs);
    },
    close: async () => {
      background.abort();
      await Promise.all([x402.close(), leads.close(), mounts.close(), providers.close(), outbound.close()]);
      await Promise.race([Promise.allSettled(work), pause(lastWorkMs, undefined, { keepsAlive: true })]);
      await redis?.close();
      // It asks the store for the last metrics.
      await telemetry?.close();
      await lastUse
        .write()
        .catch((error: unknown) => log.warn({ err: error }, 'the last use of keys is lost'));
      await store.close();
    },
  };
};

/** Loaded only if it is used, because loading the client takes a third of a second. */
const connectRedis = async (url: string, log: Log): Promise<RedisConnection> => {
  const { createRedisConnection } = await import('../limits/redis-connection.ts');
  return createRedisConnection({ url, log });
};
