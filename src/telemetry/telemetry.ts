import { isIP } from 'node:net';
import type { startTelemetry } from './start-telemetry.ts';
import type { TelemetrySettings } from './telemetry-settings.ts';

export type Telemetry = Awaited<ReturnType<typeof startTelemetry>>;

/** Starts telemetry; null: nothing is configured. Rejects with ConfigError if METRICS_LISTEN is in use. */
export const openTelemetry = async (settings: TelemetrySettings): Promise<Telemetry | null> => {
  const { listen, tracesUrl, metricsUrl } = settings;
  if (listen === null && tracesUrl === null && metricsUrl === null) return null;
  return (await import('./start-telemetry.ts')).startTelemetry(settings);
};

/** Lines about telemetry that the operator should read at start. */
export const telemetryNotices = ({ listen }: TelemetrySettings, telemetry: Telemetry | null): string[] => {
  if (listen === null || telemetry === null) return [];
  const reach = isLoopback(listen.host)
    ? ''
    : ', for everybody who reaches that address: METRICS_LISTEN names no loopback';
  return [`Metrics are served at ${telemetry.url}${reach}.`];
};

/** Whether only this machine reaches the address. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
