import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthenticate } from '../../src/auth/authenticate.ts';
import { readConfig } from '../../src/config.ts';
import { silentLog } from '../../src/log.ts';
import { createMcpMount } from '../../src/mcp/mount-mcp.ts';
import { operations } from '../../src/operations/index.ts';
import { createServices, type GatewayServices } from '../../src/services.ts';
import { openAccount } from './open-account.ts';
import { serveMount } from './serve-mount.ts';

export interface TestGateway {
  /** Without a path. */
  url: string;
  services: GatewayServices;
  /** Of an account with ten dollars. */
  apiKey: string;
  accountId: string;
  close(): Promise<void>;
}

/** The gateway as it is wired for its users, on the embedded store and the sandbox, with MCP on a free port. */
export const startGateway = async (env: Record<string, string>): Promise<TestGateway> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'mcp-'));
  const config = readConfig(
    { DATA_DIR: dataDir, SYNTHETIC_PROFILES: '300', LOG_LEVEL: 'silent', ...env },
    null,
  );
  const services = await createServices(config, silentLog);
  const served = await serveMount((url) => {
    services.listeningAt(url);
    return createMcpMount({ services, operations, authenticate: createAuthenticate(services) });
  });
  services.begin();
  return {
    url: served.url,
    services,
    ...(await openAccount(services)),
    close: async () => {
      await served.close();
      await services.drain();
      await services.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};
