import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { startGatewayProcess, type GatewayProcess } from '../../scripts/gateway-process.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { silentLog } from '../../src/kit/log.ts';
import { readConfig } from '../../src/config/config.ts';
import { openStore } from '../../src/store/open-store.ts';
import { runHere } from '../cli/run-cli.ts';
import { layDataFolder } from '../data-template.ts';
import { openAccount } from '../mcp/open-account.ts';
import { mountYaml } from './mount-yaml.ts';

export interface KillableGateway {
  dataDir: string;
  /** Of each gateway process. */
  environment: Record<string, string>;
  /** Starts a gateway process on the folder, and waits until it offers the tool. */
  start(tool: string): Promise<GatewayProcess>;
  /** Calls with the key of an account that has ten dollars. */
  ask(
    gateway: Pick<GatewayProcess, 'url'>,
    path: string,
    options?: { body?: object; key?: string },
  ): Promise<Response>;
}

/** Lays a folder for gateways in processes of their own that mount the server `hostile`. They are killed when the test ends. */
export const layKillableGateway = async (
  server: object,
  more: Record<string, string> = {},
): Promise<KillableGateway> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'causeway-killed-'));
  const running: GatewayProcess[] = [];
  onTestFinished(async () => {
    for (const gateway of running) await gateway.kill();
    await rm(dataDir, { recursive: true, force: true });
  });
  layDataFolder(dataDir);
  const yamlFile = join(dataDir, 'causeway.yaml');
  await writeFile(yamlFile, mountYaml({ hostile: server }));
  const environment = {
    PATH: process.env['PATH'] ?? '',
    DATA_DIR: dataDir,
    CAUSEWAY_CONFIG: yamlFile,
    PORT: '0',
    LOG_LEVEL: 'silent',
    SYNTHETIC_PROFILES: '500',
    ...more,
  };
  const store = await openStore(readConfig({ DATA_DIR: dataDir }, null), {
    log: silentLog,
    onGroup: undefined,
  });
  const { apiKey } = await openAccount({ store, clock: systemClock });
  await store.close();
  const ask: KillableGateway['ask'] = ({ url }, path, { body, key } = {}) =>
    fetch(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const accept = async (): Promise<string> =>
    (await runHere(['tools', 'accept', 'hostile'], { env: environment })).stdout;
  let isAccepted = false;
  return {
    dataDir,
    environment,
    ask,
    start: async (tool) => {
      const gateway = await startGatewayProcess(environment);
      running.push(gateway);
      if (!isAccepted) await expect.poll(accept).toContain('accepted');
      isAccepted = true;
      await expect.poll(async () => (await ask(gateway, '/v1/tools')).text()).toContain(`"${tool}"`);
      return gateway;
    },
  };
};
