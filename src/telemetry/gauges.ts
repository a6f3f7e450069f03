import { monitorEventLoopDelay, performance as nodePerformance } from 'node:perf_hooks';
import { callWithin } from '../kit/deadline.ts';
import { readDisk } from '../kit/disk.ts';
import { nanoPerUsd } from '../kit/money.ts';
import type { Services } from '../operations/call.ts';
import type { Operation } from '../operations/definition.ts';
import type { Providers } from '../providers/create-providers.ts';
import { jobKinds } from '../rules/jobs.ts';
import type { Observe } from './metering.ts';
import { spanAttributes as name } from './names.ts';

/** The parts of the gateway whose figures are read. */
export interface GaugeSources extends Pick<Services, 'store' | 'x402' | 'bodyMemory' | 'log'> {
  config: { dataDir: string };
  operations: readonly Operation[];
  providers: Pick<Providers, 'health'>;
  readiness(): Promise<{ store: 'ready' | 'disk_full' | 'unavailable' }>;
}

/** However often metrics are asked for, the store is asked this often. */
const askStoreEveryMs = 5_000;
/** Within the time that a scrape has. */
const storeTimeoutMs = 2_000;

/** Returns a function that reads all figures. What does not answer is left out, because an old value would look alive. */
export const readGauges = (sources: GaugeSources): ((observe: Observe) => Promise<void>) => {
  const readStore = createReadStore(sources);
  const readProcess = createReadProcess();
  return async (observe) => {
    readProcess(observe);
    readParts(sources, observe);
    await Promise.all([readStore(observe), readPlace(sources, observe)]);
  };
};

const readParts = ({ providers, x402, bodyMemory }: GaugeSources, observe: Observe): void => {
  for (const { name: provider, models } of providers.health())
    for (const { kind, model, restMs } of models)
      observe('breakerRest', restMs / 1_000, {
        [name.genAiOperation]: kind === 'chat' ? 'chat' : 'generate_content',
        [name.provider]: provider,
        [name.requestModel]: model,
      });
  for (const { network, facilitator, ready, settlementsLeft } of x402.status()) {
    const facts = { 'causeway.network': network };
    observe('networkReady', Number(ready), { ...facts, 'causeway.facilitator': facilitator });
    if (settlementsLeft !== undefined) observe('settlementsLeft', settlementsLeft, facts);
  }
  const { usedBytes, waiting } = bodyMemory.usage();
  observe('bodyMemory', usedBytes);
  observe('bodyWaiting', waiting);
};

/** Each has a value, also while there is no such job. */
const activeJobs = jobKinds.flatMap((kind) => [[kind, 'queued'] as const, [kind, 'running'] as const]);

const createReadStore = ({ store, log }: GaugeSources): ((observe: Observe) => Promise<void>) => {
  const ask = () =>
    Promise.all([
      store.gaugeActiveJobs(undefined),
      store.gaugeOwedJobs(undefined),
      store.gaugeWebhooks(undefined),
      store.gaugePayments(undefined),
    ]);
  let askedAt = -Infinity;
  let asked: ReturnType<typeof ask>;
  return async (observe) => {
    if (performance.now() - askedAt >= askStoreEveryMs) {
      askedAt = performance.now();
      asked = callWithin({ call: ask, timeoutMs: storeTimeoutMs });
    }
    let answer: Awaited<typeof asked>;
    try {
      answer = await asked;
    } catch (error) {
      log.debug({ err: error }, 'the store did not answer in time for metrics');
      return;
    }
    const [jobs, owed, webhooks, payments] = answer;
    const now = Date.now();
    const ageOf = (at: number): number => (at === 0 ? 0 : Math.max(0, now - at) / 1_000);
    for (const [kind, status] of activeJobs) {
      const facts = { 'causeway.kind': kind, 'causeway.status': status };
      const found = jobs.find((one) => one.kind === kind && one.status === status);
      observe('activeJobs', found?.jobs ?? 0, facts);
      observe('oldestJob', ageOf(found?.oldestAt ?? 0), facts);
    }
    observe(
      'holds',
      jobs.reduce((sum, { holds }) => sum + holds, 0),
    );
    observe('held', Number(jobs.reduce((sum, { held }) => sum + held, 0n)) / Number(nanoPerUsd));
    observe('owedJobs', owed.jobs);
    observe('owed', Number(owed.owed) / Number(nanoPerUsd));
    observe('webhooks', webhooks.events);
    observe('webhookLag', ageOf(webhooks.dueAt));
    for (const { state, payments: count, oldestAt } of payments) {
      observe('payments', count, { 'causeway.state': state });
      observe('oldestPayment', ageOf(oldestAt), { 'causeway.state': state });
    }
  };
};

/** The store's readiness, and the room on its disk. */
const readPlace = async ({ config, readiness, log }: GaugeSources, observe: Observe): Promise<void> => {
  const { store } = await readiness();
  observe('storeReady', Number(store === 'ready'));
  observe('diskFull', Number(store === 'disk_full'));
  try {
    observe('diskFree', (await readDisk(config.dataDir)).free);
  } catch (error) {
    log.debug({ err: error }, 'the free space of DATA_DIR cannot be read');
  }
};

const loopResolutionMs = 10;

const createReadProcess = (): ((observe: Observe) => void) => {
  const delay = monitorEventLoopDelay({ resolution: loopResolutionMs });
  delay.enable();
  let utilization = nodePerformance.eventLoopUtilization();
  return (observe) => {
    // The histogram also counts its own timer's interval.
    observe('loopDelay', Math.max(0, delay.percentile(99) / 1e9 - loopResolutionMs / 1_000));
    delay.reset();
    const now = nodePerformance.eventLoopUtilization();
    observe('loopUtilization', nodePerformance.eventLoopUtilization(now, utilization).utilization);
    utilization = now;
    const { rss, heapUsed } = process.memoryUsage();
    observe('memory', rss);
    observe('heap', heapUsed);
    const { user, system } = process.cpuUsage();
    observe('cpu', user / 1e6, { 'cpu.mode': 'user' });
    observe('cpu', system / 1e6, { 'cpu.mode': 'system' });
  };
};
