import { vi } from 'vitest';
import type { GatewayServices } from '../../src/gateway/services.ts';
import { acceptTools } from '../../src/operator/tools.ts';
import { runVerb } from '../../src/operator/run-verb.ts';

const call = { actor: 'cli:tests', actorLabel: null, role: 'write', requestId: null } as const;

/** Waits until the server has listed its tools, and accepts them as an operator does; `tool`: this one alone. */
export const acceptToolsOf = async (
  { store, clock, config, mounts }: GatewayServices,
  server: string,
  tool?: string,
): Promise<void> => {
  await vi.waitUntil(async () => (await store.listMountedTools(server)).length > 0, { timeout: 60_000 });
  const services = { store, clock, brand: config.brand, config: async () => config };
  await runVerb(
    acceptTools,
    async () => ({ server, ...(tool === undefined ? {} : { tool }) }),
    call,
    services,
  );
  await vi.waitUntil(async () => (await mounts.offered()).some((one) => one.server === server), {
    timeout: 10_000,
  });
};
