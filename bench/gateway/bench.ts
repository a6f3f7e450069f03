import type { GatewayProcess } from '../../scripts/gateway-process.ts';
import { makeSite, startGateway, untilReady, type Site } from './start-gateway.ts';
import { startProcess } from './start-process.ts';

export interface BenchOptions {
  /** Further settings of the gateway. */
  environment: Record<string, string>;
  rounds: number;
  /** Of one burst. */
  seconds: number;
  say(text: string): void;
}

/** A gateway, its upstream, and what the measurements share. */
export interface Bench extends BenchOptions {
  site: Site;
  gateway: GatewayProcess;
  upstreamPort: number;
  /** What the gateway must have charged by now. */
  charged: { jobs: number; nano: number };
}

/** Starts the upstream and a gateway on a new data folder, runs `work` with them, and removes them. */
export const withBench = async <T>(options: BenchOptions, work: (bench: Bench) => Promise<T>): Promise<T> => {
  const upstream = startProcess('upstream', 'client');
  const upstreamPort = await upstream.ask<number>({});
  const site = await makeSite(upstreamPort, options.environment);
  try {
    const gateway = await startGateway(site.environment);
    try {
      await untilReady(gateway.url);
      return await work({ ...options, site, gateway, upstreamPort, charged: { jobs: 0, nano: 0 } });
    } finally {
      await gateway.stop();
    }
  } finally {
    await upstream.stop();
    await site.remove();
  }
};
