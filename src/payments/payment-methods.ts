import type { FacilitatorConfig } from './x402-settings.ts';
import { ConfigError } from '../kit/errors.ts';
import type { Log } from '../kit/log.ts';
import type { PaymentMethod } from './core/challenge.ts';
import {
  defaultFacilitatorTimeouts,
  type Facilitator,
  type FacilitatorTimeouts,
} from './core/facilitator.ts';
import { createFacilitatorGroup } from './remote/facilitator-group.ts';
import { createJsonRpc, isNodeTrouble, type JsonRpc } from './core/json-rpc.ts';
import { createLocalFacilitator } from './core/local-facilitator.ts';
import { createRemoteFacilitator } from './remote/remote-facilitator.ts';
import { createRemoteOutcome } from './remote/remote-outcome.ts';
import type { AccountLease, PaymentAsset, PaymentNetwork } from './core/network-family.ts';
import { configuredNetwork } from './networks.ts';
import { withSelfCheck } from './core/self-check.ts';

/** A configured network with its wallet. */
export interface PayableNetwork {
  /** CAIP-2. */
  network: string;
  payTo: string;
  facilitator: FacilitatorConfig;
  /** Another token than the network's own USDC. */
  asset?: PaymentAsset | null;
}

export interface PaymentMethodsOptions {
  networks: readonly PayableNetwork[];
  /** The `{base_url}`; `/x402` below it is the facilitator address of payments that this process settles. */
  publicUrl: () => string;
  log: Log;
  now: () => number;
  timeouts?: Partial<FacilitatorTimeouts>;
  /** Returns the lease of an account, named by CAIP-2 network and address, from which other processes send too. */
  accountLeaseOf: (account: string) => AccountLease;
  /** Called when a facilitator elsewhere begins to fail: the offer may have changed. */
  onTrouble?: () => void;
  /** Allows the word of a facilitator elsewhere to count while no node of the chain answers. */
  takesUnchecked: boolean;
}

type RemoteConfig = Extract<FacilitatorConfig, { kind: 'remote' }>;

const createRemote = (
  network: PaymentNetwork,
  { endpoints }: RemoteConfig,
  options: PaymentMethodsOptions & { rpc: JsonRpc; timeouts: FacilitatorTimeouts },
): Facilitator => {
  const { rpc, log, now, timeouts, takesUnchecked, onTrouble = () => undefined } = options;
  const outcome = createRemoteOutcome({ network, rpc, timeouts, takesUnchecked, now });
  const shared = { network, outcome, timeouts, log: log.child({ network: network.id }), now, onTrouble };
  const [first, ...others] = endpoints.map((endpoint) => createRemoteFacilitator({ ...endpoint, ...shared }));
  if (first === undefined) throw new ConfigError('X402_FACILITATOR_URL: must name at least one facilitator');
  return createFacilitatorGroup({
    family: network.family,
    members: [first, ...others],
    outcome,
    timeouts,
    now,
  });
};

/** Creates a payment method for each network, in order. Throws ConfigError for a wrong network or key. */
export const createPaymentMethods = (options: PaymentMethodsOptions): PaymentMethod[] => {
  const timeouts = { ...defaultFacilitatorTimeouts, ...options.timeouts };
  return options.networks.map(({ network: id, payTo, asset, facilitator: settings }) => {
    const network = configuredNetwork(id, asset ?? null);
    const url = settings.rpcUrl ?? network.publicRpcUrl;
    const rpc = createJsonRpc({ url, timeoutMs: timeouts.rpcMs });
    const shared = { ...options, rpc, timeouts };
    const address = (): string => `${options.publicUrl()}/x402`;
    const facilitator =
      settings.kind === 'local'
        ? createLocalFacilitator({ ...shared, network, payTo, privateKey: settings.privateKey, address })
        : createRemote(network, settings, shared);
    return {
      network,
      payTo,
      // A public node is not asked for more than has to be.
      facilitator:
        settings.rpcUrl === null
          ? facilitator
          : withSelfCheck(facilitator, { network, payTo, rpc, timeoutMs: timeouts.queryMs }),
      readFunds: async (of) => {
        try {
          return await network.family.readFunds(of, { rpc, signal: AbortSignal.timeout(timeouts.queryMs) });
        } catch (error) {
          if (isNodeTrouble(error)) return null;
          throw error;
        }
      },
    };
  });
};
