import { randomUUID } from 'node:crypto';
import { diag, DiagLogLevel } from '@opentelemetry/api';
import { parseKeyPairsIntoRecord } from '@opentelemetry/core';
import { resourceFromAttributes } from '@opentelemetry/resources';
import packageJson from '../../package.json' with { type: 'json' };
import { silentLog, type Log } from '../kit/log.ts';
import { throttle } from '../kit/repeat.ts';
import { readGauges } from './gauges.ts';
import type { Services } from '../operations/call.ts';
import type { Provider } from '../providers/provider.ts';
import type { Store } from '../store/store.ts';
import { type GaugeSources } from './gauges.ts';
import { createMetering } from './metering.ts';
import { createObserveOperation, createObserveRequest, type ObserveRequest } from './observe-calls.ts';
import { createJobOpeners, observeExecutors, observeStore, type Executors } from './observe-jobs.ts';
import { observeLeads, observeMounts, observeProvider } from './observe-upstreams.ts';
import type { TelemetrySettings } from './telemetry-settings.ts';
import { createTracing } from './tracing.ts';

/** A collector that is away would fill the log. */
const warnEveryMs = 60_000;
/** A process that ends waits this long for the last spans and metrics to be sent. */
const closeMs = 3_000;

/** Watches the gateway from outside, by wrapping its parts. Rejects with ConfigError if METRICS_LISTEN is in use. */
export const startTelemetry = async (settings: TelemetrySettings) => {
  let log: Log = silentLog;
  logFaults(() => log);
  const resource = resourceFromAttributes({
    'service.name': settings.serviceName,
    'service.version': packageJson.version,
    'service.instance.id': randomUUID(),
    ...parseKeyPairsIntoRecord(settings.attributes),
  });
  const tracing = await createTracing(settings, resource);
  const metering = await createMetering(settings, { resource, log: () => log });
  const parts = { tracing, metering, openers: createJobOpeners() };
  let observeRequest: ObserveRequest = (_exchange, serve) => serve();
  return {
    url: metering.url,
    /** Fields for each line of the log: the ids of the active span. */
    logFields: tracing.ids,
    /** Headers that make an upstream's spans children of ours; none without traces. */
    traceHeaders: tracing.headers,
    observeStore: (store: Store): Store => observeStore(store, parts),
    /** Counts the commands that a store carries out together. */
    observeGroup: (size: number): void => metering.record('groups', size, {}),
    observeProvider: (name: string, provider: Provider): Provider => observeProvider(name, provider, parts),
    observeExecutors: (executors: Executors): Executors => observeExecutors(executors, parts),
    observeLeads: (leads: Services['leads']): Services['leads'] => observeLeads(leads, parts),
    observeMounts: (mounts: Services['mounts']): Services['mounts'] => observeMounts(mounts, parts),
    observeOperation: createObserveOperation(parts),
    observeRequest: ((exchange, serve) => observeRequest(exchange, serve)) satisfies ObserveRequest,
    /** Reads figures of these parts from now on, when metrics are asked for. */
    begin: (sources: GaugeSources): void => {
      ({ log } = sources);
      observeRequest = createObserveRequest(sources.operations, parts);
      metering.readBy(readGauges(sources));
    },
    close: async (): Promise<void> => {
      await metering.stopListening();
      const closing = Promise.allSettled([metering.close(), tracing.close()]);
      await Promise.race([closing, new Promise((resolve) => setTimeout(resolve, closeMs).unref())]);
      diag.disable();
    },
  };
};

/** Writes the faults of the SDK, such as a collector that is away, to the log: now and then. */
const logFaults = (log: () => Log): void => {
  const warn = throttle<string>(warnEveryMs, (fault, leftOut) =>
    log().warn({ fault, leftOut }, 'telemetry: something could not be sent or read'),
  );
  const quiet = (): void => {};
  diag.setLogger(
    { error: warn, warn, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
};
