import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, vi } from 'vitest';
import { createApp } from '../../src/gateway/app.ts';
import { readConfig } from '../../src/config/config.ts';
import { openFirstAccount } from '../../src/gateway/first-start.ts';
import type { Operation } from '../../src/operations/definition.ts';
import { silentLog, type Log } from '../../src/kit/log.ts';
import { createServices, type GatewayServices } from '../../src/gateway/services.ts';
import type { StripeAddress } from '../../src/payments/cards/stripe-client.ts';
import { openTelemetry } from '../../src/telemetry/telemetry.ts';
import { layDataOf, templateProfiles } from '../data-template.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** In this run, the embedded stores of gateways have threads of their own, as in production. */
    storeThreads: boolean;
  }
}

export interface TestGateway {
  url: string;
  /** Of the first account, with $25.00. */
  apiKey: string;
  services: GatewayServices;
  dataDir: string;
  /** A JSON request with the key; `body` makes it a POST. */
  call(path: string, options?: CallOptions): Promise<Response>;
  stop(): Promise<void>;
}

export interface CallOptions {
  body?: unknown;
  headers?: Record<string, string>;
  /** Null sends no key. */
  apiKey?: string | null;
  method?: string;
}

export interface TestGatewayOptions {
  environment?: Record<string, string>;
  yaml?: string | null;
  log?: Log;
  /**
   * The embedded store has threads of its own, as in production. Default: in a slow run, because to start them takes
   * longer than most tests.
   */
  storeThreads?: boolean;
  /** In place of all. */
  operations?: readonly Operation[];
  /** Where Stripe is. */
  stripe?: StripeAddress;
  /** The settings that are found when they are read again. */
  next?: { environment?: Record<string, string>; yaml?: string };
}

/** The whole gateway in this process, on a free port and a temporary folder, wired as `npm start` wires it. */
export const startTestGateway = async (options: TestGatewayOptions = {}): Promise<TestGateway> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'causeway-test-'));
  const removeFolder = (): Promise<void> => rm(dataDir, { recursive: true, force: true });
  try {
    return await startIn(dataDir, { options, removeFolder });
  } catch (error) {
    await removeFolder();
    throw error;
  }
};

const startIn = async (
  dataDir: string,
  { options, removeFolder }: { options: TestGatewayOptions; removeFolder: () => Promise<void> },
): Promise<TestGateway> => {
  const environment = {
    PORT: '0',
    DATA_DIR: dataDir,
    SYNTHETIC_PROFILES: String(templateProfiles),
    DRAIN_MS: '2000',
    ...options.environment,
  };
  const config = readConfig(environment, options.yaml ?? null);
  layDataOf(config);
  const telemetry = await openTelemetry(config.telemetry);
  const services = await createServices(config, options.log ?? silentLog, {
    operations: options.operations,
    stripe: options.stripe,
    inThisThread: !(options.storeThreads ?? inject('storeThreads')),
    telemetry,
    loadConfig: async () =>
      readConfig({ ...environment, ...options.next?.environment }, options.next?.yaml ?? null),
  });
  const app = createApp(services);
  app.server.listen(0, '127.0.0.1');
  await once(app.server, 'listening');
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  services.listeningAt(url);
  const first = await openFirstAccount(services);
  services.begin();
  const apiKey = first?.apiKey ?? '';

  return {
    url,
    apiKey,
    services,
    dataDir: config.dataDir,
    call: (path, { body, headers, apiKey: key = apiKey, method } = {}) =>
      fetch(url + path, {
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: {
          ...(key === null ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    stop: async () => {
      await services.drain();
      app.server.close();
      app.server.closeAllConnections();
      await services.close();
      await removeFolder();
    },
  };
};

/** Waits until the lead index answers. */
export const whenSearchReady = async ({ services }: TestGateway): Promise<void> => {
  await vi.waitUntil(() => services.leads.status().ready, { timeout: 60_000 });
};
