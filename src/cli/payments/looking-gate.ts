import { newId } from '../../kit/ids.ts';
import { silentLog } from '../../kit/log.ts';
import { configuredNetwork } from '../../payments/core/networks.ts';
import { createX402Gate, type X402Gate } from '../../purchases/x402/x402-gate.ts';
import type { Config } from '../../config/config.ts';
import type { Session } from '../command-context.ts';

export type Networks = Config['x402']['networks'];

/** Throws ConfigError or CommandError. */
export const readNetworks = async ({ config }: Session): Promise<Networks> => (await config()).x402.networks;

/**
 * A gate as the gateway has it, to look at payments and take none. The wallet that new payments would go to plays no
 * part in that, as a payment tells whom it was made out to: where none is configured, some address stands for it, and none is
 * made. Throws ConfigError or CommandError.
 */
export const openLookingGate = async (
  { store, clock, config: readConfig }: Session,
  networks: Networks,
): Promise<X402Gate> => {
  const config = await readConfig();
  return createX402Gate({
    store,
    networks: networks.map((network) => ({
      ...network,
      payTo: network.payTo ?? configuredNetwork(network.network, network.asset).asset.address,
    })),
    publicUrl: () => config.publicUrl ?? `http://${config.host}:${config.port}`,
    clock,
    log: silentLog,
    owner: `operator/${newId()}`,
    pricing: config.search.pricing,
  });
};
