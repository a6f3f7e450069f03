import type { Log } from '../../kit/log.ts';
import { once } from '../../kit/once.ts';
import { decodeBase58, encodeBase58 } from '../solana/base58.ts';
import type { PaymentNetwork } from './networks.ts';
import { ConfigError } from '../../kit/errors.ts';
import type { Facilitator, FacilitatorTimeouts, SupportedKind } from './facilitator.ts';
import { createJsonRpc, RpcRefusal } from './json-rpc.ts';
import type { LocalEngine } from './local-engine.ts';
import type { SenderTurn } from './sender-turn.ts';

export interface LocalFacilitatorOptions {
  network: PaymentNetwork;
  payTo: string;
  rpcUrl: string;
  /** EVM: 0x and 64 hex digits. Solana: base58 of 64 bytes. */
  privateKey: string;
  /** Where this service tells what it settles: it is its own facilitator. */
  address: () => string;
  timeouts: FacilitatorTimeouts;
  /** Turns of EVM accounts that other processes send from too. */
  turnOf: (sender: string) => SenderTurn;
  log: Log;
  now: () => number;
}

const secretKeyBytes = 64;
const notLoaded = { outcome: 'unavailable', reason: 'chain_not_set_up' } as const;

const readSolanaKey = (text: string): Uint8Array => {
  const bytes = decodeBase58(text);
  if (bytes?.length !== secretKeyBytes)
    throw new ConfigError('X402_SOLANA_FACILITATOR_KEY: must be a base58 secret key of 64 bytes');
  return bytes;
};

interface Loading {
  kind: SupportedKind;
  load: () => Promise<LocalEngine>;
}

/** The terms need no package of the chain; the engine is loaded when it is first needed. */
const prepare = ({ network, privateKey, rpcUrl, timeouts, ...rest }: LocalFacilitatorOptions): Loading => {
  const rpc = createJsonRpc({ url: rpcUrl, timeoutMs: timeouts.rpcMs });
  if (network.family === 'evm')
    return {
      kind: { extra: {} },
      load: async () => {
        const { createLocalEvm } = await import('../evm/local-evm.ts');
        return createLocalEvm({
          network,
          privateKey,
          rpc,
          timeouts,
          turnOf: rest.turnOf,
          log: rest.log,
          now: rest.now,
        });
      },
    };
  const secretKey = readSolanaKey(privateKey);
  return {
    kind: { extra: { feePayer: encodeBase58(secretKey.subarray(secretKeyBytes / 2)) } },
    load: async () => {
      const { createLocalSolana } = await import('../solana/local-solana.ts');
      return createLocalSolana({ network, secretKey, rpc, timeouts, ...rest });
    },
  };
};

/** A facilitator in this process, which asks the chain's RPC and pays the chain's fees itself. */
export const createLocalFacilitator = (options: LocalFacilitatorOptions): Facilitator => {
  const { kind, load } = prepare(options);
  let supported: SupportedKind | 'unsupported' = kind;
  const engine = once(load);
  const loaded = (): Promise<LocalEngine | null> =>
    engine().catch((error: unknown) => {
      options.log.error({ err: error, network: options.network.id }, 'the chain could not be set up');
      return null;
    });
  return {
    name: 'local',
    address: options.address,
    supports: () => supported,
    refresh: async (signal) => {
      const ready = await engine();
      try {
        const health = await ready.check(signal);
        // Nobody is asked to pay what could not be settled.
        supported = health.ready ? kind : 'unsupported';
        return health;
      } catch (error) {
        const { family, label } = options.network;
        const setting = `X402_${family.toUpperCase()}_RPC_URL, or rpc_url`;
        return {
          ready: false,
          detail:
            error instanceof RpcRefusal
              ? `the RPC does not know what every node of ${label} knows (${setting}): ${error.message.slice(0, 200)}`
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
