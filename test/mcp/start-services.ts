import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config/config.ts';
import { silentLog, type Log } from '../../src/kit/log.ts';
import { createServices, type GatewayServices } from '../../src/gateway/services.ts';
import { layDataOf, templateProfiles } from '../data-template.ts';
import { openAccount } from './open-account.ts';

export interface StartedServices {
  services: GatewayServices;
  /** Of an account with ten dollars. */
  apiKey: string;
  keyId: string;
  accountId: string;
  close: () => Promise<void>;
}

/** The gateway's services as its users have them, on the embedded store and the sandbox, in a folder of their own. */
export const startServices = async (
  env: Record<string, string>,
  { log = silentLog }: { log?: Log } = {},
): Promise<StartedServices> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'mcp-'));
  const profiles = String(templateProfiles);
  const settings = { DATA_DIR: dataDir, SYNTHETIC_PROFILES: profiles, ...paymentSettings, ...env };
  const config = readConfig(settings, null);
  layDataOf(config);
  const services = await createServices(config, log, { inThisThread: true });
  return {
    services,
    ...(await openAccount(services)),
    close: async () => {
      await services.drain();
      await services.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};

/** One network, whose terms can be told without asking anybody; nothing listens at the facilitator's address. */
export const paymentSettings = {
  X402_NETWORKS: 'eip155:84532',
  X402_EVM_PAY_TO: '0x00000000000000000000000000000000000000aa',
  X402_FACILITATOR_URL: 'http://127.0.0.1:9',
  X402_EVM_RPC_URL: 'http://127.0.0.1:9',
};
