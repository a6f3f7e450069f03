import type { X402NetworkConfig } from '../x402-settings.ts';
import type { Log } from '../../kit/log.ts';
import type { PaymentMethod } from '../wire/challenge.ts';
import {
  defaultFacilitatorTimeouts,
  type FacilitatorTimeouts,
  type Facilitator,
  type SupportedKind,
} from './core/facilitator.ts';
import { createFacilitatorGroup } from './remote/facilitator-group.ts';
import { createJsonRpc, isNodeTrouble, RpcRefusal } from './core/json-rpc.ts';
import type { AccountLease, NodeAccess, LocalEngine, LocalEngineOptions } from './core/network-family.ts';
import { configuredNetwork } from './networks.ts';
import { ConfigError, instead } from '../../kit/errors.ts';
import { memoizeAsync } from '../../kit/memoize.ts';

const nullInTrouble = instead(null, isNodeTrouble);
const notLoaded = { outcome: 'unavailable', reason: 'chain_not_set_up' } as const;

/**
 * A facilitator in this process, which asks a node of the chain and pays the chain's fees itself. The packages of the
 * chain are loaded with the first call that needs them. `address` tells what it settles: this service is its own
 * facilitator. Throws ConfigError for a key of the wrong form.
 */
const createLocalFacilitator = (options: LocalEngineOptions & { address: () => string }): Facilitator => {
  const { network, log } = options;
  const { family } = network;
  const problem = family.secretKeyProblem(options.privateKey);
  if (problem !== null) throw new ConfigError(`${family.settingPrefix}_FACILITATOR_KEY: ${problem}`);
  const { kind, load } = family.prepareLocal(options);
  let supported: SupportedKind | 'unsupported' = kind;
  const engine = memoizeAsync(load);
  const loaded = (): Promise<LocalEngine | null> =>
    engine().catch((error: unknown) => {
      log.error({ err: error, network: network.id }, 'the chain could not be set up');
      return null;
    });
  return {
    name: 'local',
    address: options.address,
    supports: () => supported,
    refresh: async (signal) => {
      const ready = await engine();
      try {
        const [health, upto] = await Promise.all([ready.check(signal), ready.readUpto?.(signal) ?? null]);
        // Nobody is asked to pay what could not be settled.
        supported = health.ready ? { ...kind, ...(upto === null ? {} : { upto }) } : 'unsupported';
        return health;
      } catch (error) {
        const setting = `${family.settingPrefix}_RPC_URL, or rpc_url`;
        return {
          ready: false,
          detail:
            error instanceof RpcRefusal
              ? `the RPC does not know what every node of ${network.label} knows (${setting}): ${error.message.slice(0, 200)}`
              : `the RPC does not answer (${setting})`,
        };
      }
    },
    verify: async (order, signal) => (await loaded())?.verify(order, signal) ?? notLoaded,
    settle: async (order, settling) => (await loaded())?.settle(order, settling) ?? notLoaded,
    canSettleBlindly: () => false,
    findOutcome: async (payment, signal) =>
      (await loaded())?.findOutcome(payment, signal) ?? { outcome: 'unknown', reason: notLoaded.reason },
  };
};

/**
 * Takes a facilitator out of the offer as long as the chain contradicts the configuration: nobody shall sign what
 * cannot be settled. The chain is asked until it agrees once; a node that does not answer changes nothing.
 */
const withSelfCheck = (
  facilitator: Facilitator,
  { network, payTo, rpc, timeouts }: Pick<LocalEngineOptions, 'network' | 'payTo' | 'rpc' | 'timeouts'>,
): Facilitator => {
  let hasAgreed = false;
  let faults: string[] = [];
  const ask = async (outer: AbortSignal): Promise<void> => {
    const signal = AbortSignal.any([outer, AbortSignal.timeout(timeouts.queryMs)]);
    try {
      faults = await network.family.findFaults({ network, payTo }, { rpc, signal });
      hasAgreed = faults.length === 0;
    } catch (error) {
      // The calls that need this node report themselves that it does not answer.
      if (!isNodeTrouble(error)) throw error;
    }
  };
  return {
    ...facilitator,
    supports: () => (faults.length > 0 ? 'unsupported' : facilitator.supports()),
    refresh: async (signal) => {
      const [health] = await Promise.all([facilitator.refresh(signal), hasAgreed ? null : ask(signal)]);
      return faults.length > 0 ? { ready: false, detail: faults.join('; ') } : health;
    },
  };
};

export type PayableNetwork = Pick<X402NetworkConfig, 'network' | 'facilitator'> &
  Partial<Pick<X402NetworkConfig, 'asset'>> & { payTo: string };

export interface PaymentMethodsOptions {
  networks: readonly PayableNetwork[];
  /** The `{base_url}`; `/x402` below it is the facilitator address of payments that this process settles. */
  publicUrl: () => string;
  log: Log;
  now: () => number;
  timeouts?: Partial<FacilitatorTimeouts>;
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
    const shared = { ...options, network, payTo, rpc, timeouts };
    const ask = async <T>(question: (node: NodeAccess) => Promise<T>): Promise<T | null> =>
      question({ rpc, signal: AbortSignal.timeout(timeouts.queryMs) }).catch(nullInTrouble);
    const facilitator =
      settings.kind === 'local'
        ? createLocalFacilitator({
            ...shared,
            privateKey: settings.privateKey,
            address: () => `${options.publicUrl()}/x402`,
          })
        : createFacilitatorGroup({
            ...shared,
            endpoints: settings.endpoints,
            log: options.log.child({ network: id }),
            onTrouble: options.onTrouble ?? (() => undefined),
          });
    return {
      network,
      payTo,
      // A public node is not asked for more than has to be.
      facilitator: settings.rpcUrl === null ? facilitator : withSelfCheck(facilitator, shared),
      findSigner: (signed, signal) => network.family.findSigner(signed, { rpc, signal }),
      readFunds: (of) => ask((node) => network.family.readFunds(of, node)),
      prepareTransfer: (of) =>
        ask(async (node) => (await network.family.prepareTransfer?.(of, node)) ?? null),
      findWallet: (of) => ask((node) => network.family.findWallet({ ...of, network }, node)),
    };
  });
};
