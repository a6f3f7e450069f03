import type { Log } from '../../src/kit/log.ts';
import { createMcpMount } from '../../src/mcp/mount-mcp.ts';
import { operations as realOperations } from '../operations/test-operations.ts';
import type { Operation } from '../../src/operations/definition.ts';
import { serveMount } from './serve-mount.ts';
import { startServices, type StartedServices } from './start-services.ts';

export interface TestGateway extends StartedServices {
  /** Without a path. */
  url: string;
}

export interface StartGatewayOptions {
  env?: Record<string, string>;
  operations?: readonly Operation[];
  log?: Log;
}

/** The gateway's MCP addresses on a free port of loopback. */
export const startGateway = async ({
  env = {},
  operations = realOperations,
  log,
}: StartGatewayOptions): Promise<TestGateway> => {
  const started = await startServices(env, log === undefined ? {} : { log });
  const { services } = started;
  const mount = createMcpMount({ services, operations });
  const served = await serveMount(mount, services.store);
  services.listeningAt(served.url);
  services.begin();
  return {
    ...started,
    url: served.url,
    close: async () => {
      await served.close();
      await started.close();
    },
  };
};
