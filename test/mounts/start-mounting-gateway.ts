import { silentLog, type Log } from '../../src/kit/log.ts';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';
import { openAccount } from '../mcp/open-account.ts';
import { mountYaml } from './mount-yaml.ts';

/** A gateway that mounts these servers. Its key is of an account with ten real dollars. */
export const startMountingGateway = async (
  servers: Record<string, object>,
  environment: Record<string, string> = {},
  log: Log = silentLog,
): Promise<TestGateway> => {
  const gateway = await startTestGateway({
    yaml: mountYaml(servers),
    log,
    environment: { PATH: process.env['PATH'] ?? '', ...environment },
  });
  const { apiKey } = await openAccount(gateway.services);
  return {
    ...gateway,
    apiKey,
    call: (path, options) => gateway.call(path, { apiKey, ...options }),
  };
};
