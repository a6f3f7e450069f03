import type { AssetConfig, FacilitatorConfig } from '../../config/config.ts';
import { ConfigError } from '../../kit/errors.ts';
import type { Log } from '../../kit/log.ts';
import type { PaymentMethod } from './challenge.ts';
import { configuredNetwork } from './configured-network.ts';
import { defaultFacilitatorTimeouts, type Facilitator, type FacilitatorTimeouts } from './facilitator.ts';
import { createFacilitatorGroup } from './facilitator-group.ts';
import { createJsonRpc } from './json-rpc.ts';
import { createLocalFacilitator } from './local-facilitator.ts';
import { createRemoteFacilitator, type RemoteFacilitator } from '../remote/remote-facilitator.ts';
import { createRemoteOutcome } from '../remote/remote-outcome.ts';
import type { SenderTurn } from './sender-turn.ts';
import { withSelfCheck } from './self-check.ts';
import type { PaymentNetwork } from './networks.ts';
import { readFunds } from './read-funds.ts';

/** A network of the configuration whose wallet is known. */
export interface PayableNetwork {
  /** CAIP-2. */
  network: string;
  payTo: string;
  facilitator: FacilitatorConfig;
  /** Another token than the network's own USDC. */
  asset?: AssetConfig | null;
}

export interface PaymentMethodsOptions {
  networks: readonly PayableNetwork[];
  /** The `{base_url}`; `/x402` below it is the facilitator address of payments that are settled in this process. */
  publicUrl: () => string;
  log: Log;
  now: () => number;
  timeouts?: Partial<FacilitatorTimeouts>;
  /** Turns of EVM accounts that other processes send from too. */
  turnOf: (sender: string) => SenderTurn;
  /** Told when a facilitator elsewhere begins to fail: what can be offered may have changed. */
  onTrouble?: () => void;
  /** Whether the word of a facilitator elsewhere may count while no node of the chain answers. */
  takesUnchecked: boolean;
}

type RemoteConfig = Extract<FacilitatorConfig, { kind: 'remote' }>;

const createRemote = (
  network: PaymentNetwork,
  { endpoints, rpcUrl }: RemoteConfig,
  options: PaymentMethodsOptions & { timeouts: FacilitatorTimeouts },
): Facilitator => {
  const { log, now, timeouts, onTrouble = () => undefined } = options;
  const outcome = createRemoteOutcome({
    network,
    rpcUrl: rpcUrl ?? network.publicRpcUrl,
    timeouts,
    takesUnchecked: options.takesUnchecked,
    now,
  });
  const [first, ...others] = endpoints.map((endpoint): RemoteFacilitator =>
    createRemoteFacilitator({
      ...endpoint,
      network,
      outcome,
      timeouts,
      log: log.child({ network: network.id }),
      now,
      onTrouble,
    }),
  );
  if (first === undefined) throw new ConfigError('X402_FACILITATOR_URL: must name at least one facilitator');
  return createFacilitatorGroup({ members: [first, ...others], outcome, timeouts, now });
};

/** One payment method a network, in order. Throws ConfigError for a network or key that cannot be used. */
export const createPaymentMethods = (options: PaymentMethodsOptions): PaymentMethod[] => {
  const { networks, publicUrl, turnOf, log, now } = options;
  const timeouts = { ...defaultFacilitatorTimeouts, ...options.timeouts };
  const createFacilitator = (network: PaymentNetwork, { payTo, facilitator }: PayableNetwork): Facilitator =>
    facilitator.kind === 'local'
      ? createLocalFacilitator({
          ...facilitator,
          network,
          payTo,
          address: () => `${publicUrl()}/x402`,
          timeouts,
          turnOf,
          log,
          now,
        })
      : createRemote(network, facilitator, { ...options, timeouts });
  return networks.map((configured) => {
    const { payTo, asset } = configured;
    const { rpcUrl } = configured.facilitator;
    const network = configuredNetwork(configured.network, asset ?? null);
    const { family } = network;
    const rpc = createJsonRpc({ url: rpcUrl ?? network.publicRpcUrl, timeoutMs: timeouts.rpcMs });
    const node = { rpc, timeoutMs: timeouts.queryMs };
    const facilitator = createFacilitator(network, configured);
    return {
      network,
      payTo,
      // A public node is not asked for more than has to be.
      facilitator: rpcUrl === null ? facilitator : withSelfCheck(facilitator, { network, payTo, ...node }),
      readFunds: (of) => readFunds({ family, ...node }, of),
    };
  });
};
