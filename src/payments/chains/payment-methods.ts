import type { X402NetworkConfig } from '../x402-settings.ts';
import type { Log } from '../../kit/log.ts';
import type { PaymentMethod } from '../wire/challenge.ts';
import { defaultFacilitatorTimeouts, type FacilitatorTimeouts } from './core/facilitator.ts';
import { createFacilitatorGroup } from './remote/facilitator-group.ts';
import { createJsonRpc, isNodeTrouble } from './core/json-rpc.ts';
import { createLocalFacilitator } from './core/local-facilitator.ts';
import type { AccountLease, NodeAccess } from './core/network-family.ts';
import { configuredNetwork } from './networks.ts';
import { withSelfCheck } from './core/self-check.ts';

/** A configured network with its wallet. */
export type PayableNetwork = Pick<X402NetworkConfig, 'network' | 'facilitator'> &
  Partial<Pick<X402NetworkConfig, 'asset'>> & { payTo: string };

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
}

/** Creates a payment method for each network, in order. Throws ConfigError for a wrong network or key. */
export const createPaymentMethods = (options: PaymentMethodsOptions): PaymentMethod[] => {
  const timeouts = { ...defaultFacilitatorTimeouts, ...options.timeouts };
  return options.networks.map(({ network: id, payTo, asset, facilitator: settings }) => {
    const network = configuredNetwork(id, asset ?? null);
    const url = settings.rpcUrl ?? network.publicRpcUrl;
    const rpc = createJsonRpc({ url, timeoutMs: timeouts.rpcMs });
    const shared = { ...options, rpc, timeouts };
    const ask = async <T>(question: (node: NodeAccess) => Promise<T>): Promise<T | null> => {
      try {
        return await question({ rpc, signal: AbortSignal.timeout(timeouts.queryMs) });
      } catch (error) {
        if (isNodeTrouble(error)) return null;
        throw error;
      }
    };
    const address = (): string => `${options.publicUrl()}/x402`;
    const facilitator =
      settings.kind === 'local'
        ? createLocalFacilitator({
            ...shared,
            network,
            payTo,
            privateKey: settings.privateKey,
            address,
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
        settings.rpcUrl === null
          ? facilitator
          : withSelfCheck(facilitator, { network, payTo, rpc, timeoutMs: timeouts.queryMs }),
      findSigner: (signed, signal) => network.family.findSigner(signed, { rpc, signal }),
      readFunds: (of) => ask((node) => network.family.readFunds(of, node)),
      findWallet: (of) => ask((node) => network.family.findWallet({ ...of, network }, node)),
    };
  });
};
