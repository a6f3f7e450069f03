import type { FacilitatorConfig } from '../config.ts';
import type { Log } from '../log.ts';
import type { PaymentMethod } from './challenge.ts';
import {
  defaultFacilitatorTimeouts,
  type Facilitator,
  type FacilitatorTimeouts,
} from './facilitators/facilitator.ts';
import { createLocalFacilitator } from './facilitators/local-facilitator.ts';
import { createRemoteFacilitator } from './facilitators/remote-facilitator.ts';
import { requireNetwork, type PaymentNetwork } from './networks.ts';

/** A network of the configuration whose wallet is known. */
export interface PayableNetwork {
  /** CAIP-2. */
  network: string;
  payTo: string;
  facilitator: FacilitatorConfig;
}

export interface PaymentMethodsOptions {
  networks: readonly PayableNetwork[];
  /** The `{base_url}`, which is the facilitator address of payments that are settled in this process. */
  publicUrl: () => string;
  log: Log;
  now: () => number;
  timeouts?: Partial<FacilitatorTimeouts>;
  fetch?: typeof globalThis.fetch;
}

/** One payment method a network, in order. Throws ConfigError for a network or key that cannot be used. */
export const createPaymentMethods = (options: PaymentMethodsOptions): PaymentMethod[] => {
  const { networks, publicUrl, log, now, fetch } = options;
  const timeouts = { ...defaultFacilitatorTimeouts, ...options.timeouts };
  const createFacilitator = (network: PaymentNetwork, { payTo, facilitator }: PayableNetwork): Facilitator =>
    facilitator.kind === 'local'
      ? createLocalFacilitator({ ...facilitator, network, payTo, address: publicUrl, timeouts, log, now })
      : createRemoteFacilitator({
          network,
          url: facilitator.endpoints[0]?.url ?? '',
          rpcUrl: facilitator.rpcUrl ?? network.publicRpcUrl,
          now,
          timeouts,
          ...(fetch === undefined ? {} : { fetch }),
        });
  return networks.map((configured) => {
    const network = requireNetwork(configured.network);
    return { network, payTo: configured.payTo, facilitator: createFacilitator(network, configured) };
  });
};
