import { randomUUID } from 'node:crypto';
import { diag, DiagLogLevel } from '@opentelemetry/api';
import { parseKeyPairsIntoRecord } from '@opentelemetry/core';
import { resourceFromAttributes } from '@opentelemetry/resources';
import packageJson from '../../package.json' with { type: 'json' };
import { silentLog, type Log } from '../kit/log.ts';
import { throttle } from '../kit/repeat.ts';
import { readGauges } from './gauges.ts';
import { createMetering } from './metering.ts';
import { listenForScrapes } from './metrics-listener.ts';
import { createJobOpeners, observeExecutors } from './observe-executors.ts';
import { observeLeads } from './observe-leads.ts';
import { createObserveOperation } from './observe-operation.ts';
import { observeProvider } from './observe-provider.ts';
import { createObserveRequest } from './observe-request.ts';
import { observeStore } from './observe-store.ts';
import type { TelemetrySettings } from './telemetry-settings.ts';
import type { Telemetry } from './telemetry.ts';
import { createTracing } from './tracing.ts';

/** A collector that is away would fill the log. */
const warnEveryMs = 60_000;
/** A process that ends waits this long for the last spans and metrics to be sent. */
const closeMs = 3_000;

export const startTelemetry = async (settings: TelemetrySettings): Promise<Telemetry> => {
  let log: Log = silentLog;
  logFaults(() => log);
  const resource = resourceFromAttributes({
    'service.name': settings.serviceName,
    'service.version': packageJson.version,
    'service.instance.id': randomUUID(),
    ...parseKeyPairsIntoRecord(settings.attributes),
  });
  const tracing = await createTracing(settings, resource);
  const metering = await createMetering(settings, resource);
  const parts = { tracing, metering, openers: createJobOpeners() };
  const listener =
    metering.scraped === null || settings.listen === null
      ? null
      : await listenForScrapes(metering.scraped, settings.listen, () => log);
  let observeRequest: Telemetry['observeRequest'] = (_exchange, serve) => serve();
  return {
    url: listener?.url ?? null,
    logFields: tracing.ids,
    traceHeaders: tracing.headers,
    observeStore: (store) => observeStore(store, parts),
    observeGroup: (size) => metering.record('groups', size, {}),
    observeProvider: (name, provider) => observeProvider(name, provider, parts),
    observeExecutors: (executors) => observeExecutors(executors, parts),
    observeLeads: (leads) => observeLeads(leads, parts),
    observeOperation: createObserveOperation(parts),
    observeRequest: (exchange, serve) => observeRequest(exchange, serve),
    begin: (sources) => {
      ({ log } = sources);
      observeRequest = createObserveRequest(sources.operations, parts);
      metering.readBy(readGauges(sources));
    },
    close: async () => {
      await listener?.close();
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
