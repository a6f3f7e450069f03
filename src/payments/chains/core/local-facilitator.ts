import { ConfigError } from '../../../kit/errors.ts';
import { memoizeAsync } from '../../../kit/memoize.ts';
import type { Facilitator, SupportedKind } from './facilitator.ts';
import { RpcRefusal } from './json-rpc.ts';
import type { LocalEngine, LocalEngineOptions } from './network-family.ts';

const notLoaded = { outcome: 'unavailable', reason: 'chain_not_set_up' } as const;

/**
 * A facilitator in this process, which asks a node of the chain and pays the chain's fees itself. The packages of the
 * chain are loaded with the first call that needs them. `address` tells what it settles: this service is its own
 * facilitator. Throws ConfigError for a key of the wrong form.
 */
export const createLocalFacilitator = (
  options: LocalEngineOptions & { address: () => string },
): Facilitator => {
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
