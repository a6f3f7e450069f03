import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Executor } from '../jobs/executor.ts';
import type { RequestNote } from '../kit/log-request.ts';
import type { Leads } from '../leads/lead-source.ts';
import type { ObserveOperation } from '../operations/call.ts';
import type { Provider } from '../providers/provider.ts';
import type { JobKind, Store } from '../store/store.ts';
import type { GaugeSources } from './gauges.ts';
import { isLoopback, type TelemetrySettings } from './telemetry-settings.ts';

/**
 * Watches the gateway from outside: it wraps the store, the providers, the executors of jobs, and `execute`. A gateway
 * whose settings ask for no telemetry has none of this, and loads none of it.
 */
export interface Telemetry {
  /** The address of `/metrics`; null: it is not served. */
  readonly url: string | null;
  /** Fields for each line of the log: the ids of the active span. */
  logFields(): object;
  /** Headers that make an upstream's spans children of ours; none without traces. */
  traceHeaders(): Record<string, string>;
  observeStore(store: Store): Store;
  /** Counts the commands that a store carries out together. */
  observeGroup(size: number): void;
  observeProvider(name: string, provider: Provider): Provider;
  observeExecutors(executors: Partial<Record<JobKind, Executor>>): Partial<Record<JobKind, Executor>>;
  observeLeads(leads: Leads): Leads;
  observeOperation: ObserveOperation;
  /** Runs `serve` in the span of the request. */
  observeRequest(
    exchange: { request: IncomingMessage; response: ServerResponse; note: RequestNote },
    serve: () => void,
  ): void;
  /** Reads figures of these parts from now on, when metrics are asked for. */
  begin(sources: GaugeSources): void;
  close(): Promise<void>;
}

/** Starts telemetry; null: nothing is configured. Rejects with ConfigError if METRICS_LISTEN is in use. */
export const openTelemetry = async (settings: TelemetrySettings): Promise<Telemetry | null> => {
  const { listen, tracesUrl, metricsUrl } = settings;
  if (listen === null && tracesUrl === null && metricsUrl === null) return null;
  const { startTelemetry } = await import('./start-telemetry.ts');
  return startTelemetry(settings);
};

/** Lines about telemetry that the operator should read at start. */
export const telemetryNotices = ({ listen }: TelemetrySettings, telemetry: Telemetry | null): string[] => {
  if (listen === null || telemetry === null) return [];
  const reach = isLoopback(listen.host)
    ? ''
    : ', for everybody who reaches that address: METRICS_LISTEN names no loopback';
  return [`Metrics are served at ${telemetry.url}${reach}.`];
};
