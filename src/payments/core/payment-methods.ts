import type { FacilitatorConfig } from '../x402-settings.ts';
import type { Log } from '../../kit/log.ts';
import type { PaymentMethod } from './challenge.ts';
import { defaultFacilitatorTimeouts, type FacilitatorTimeouts } from './facilitator.ts';
import { createFacilitatorGroup } from '../remote/facilitator-group.ts';
import { createJsonRpc, RpcOutage, RpcRefusal, type JsonRpc } from './json-rpc.ts';
import { createLocalFacilitator } from './local-facilitator.ts';
import type { AccountLease, PaymentAsset, PaymentNetwork } from './network-family.ts';
import { configuredNetwork } from './networks.ts';
import { withSelfCheck } from './self-check.ts';

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

/** Reads the balance of an account that pays. Null when the node does not answer. */
const createReadFunds =
  (
    { family }: PaymentNetwork,
    { rpc, timeoutMs }: { rpc: JsonRpc; timeoutMs: number },
  ): PaymentMethod['readFunds'] =>
  async (of) => {
    try {
      return await family.readFunds(of, { rpc, signal: AbortSignal.timeout(timeoutMs) });
    } catch (error) {
      if (error instanceof RpcOutage || error instanceof RpcRefusal) return null;
      throw error;
    }
  };

/** Creates a payment method for each network, in order. Throws ConfigError for a wrong network or key. */
export const createPaymentMethods = (options: PaymentMethodsOptions): PaymentMethod[] => {
  const timeouts = { ...defaultFacilitatorTimeouts, ...options.timeouts };
  return options.networks.map(({ network: id, payTo, asset, facilitator: settings }) => {
    const network = configuredNetwork(id, asset ?? null);
    const rpc = createJsonRpc({
      url: settings.rpcUrl ?? network.publicRpcUrl,
      timeoutMs: timeouts.rpcMs,
    });
    const node = { rpc, timeoutMs: timeouts.queryMs };
    const shared = { ...options, rpc, timeouts };
    const facilitator =
      settings.kind === 'local'
        ? createLocalFacilitator({
            ...shared,
            network,
            payTo,
            privateKey: settings.privateKey,
            address: () => `${options.publicUrl()}/x402`,
          })
        : createFacilitatorGroup({
            ...shared,
            network,
            endpoints: settings.endpoints,
            log: options.log.child({ network: id }),
            onTrouble: options.onTrouble ?? (() => undefined),
          });
    return {
      network,
      payTo,
      // A public node is not asked for more than has to be.
      facilitator:
        settings.rpcUrl === null ? facilitator : withSelfCheck(facilitator, { network, payTo, ...node }),
      readFunds: createReadFunds(network, node),
    };
  });
};
