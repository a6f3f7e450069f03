import type { PaymentAsset, PaymentNetwork, RefundOptions } from '../chains/core/network-family.ts';
import { configuredNetwork } from '../chains/networks.ts';
import { createJsonRpc } from '../chains/core/json-rpc.ts';
import type { RefundChain, RefundWallet } from '../chains/core/refund-transfer.ts';
import type { X402Config } from '../read-x402-settings.ts';
import type { Payment } from '../../store/store.ts';

/** The part of a configured network that refunds need. */
export interface RefundNetwork {
  /** CAIP-2. */
  network: string;
  asset?: PaymentAsset | null;
  /** `rpcUrl` null: the network's public node. */
  facilitator: { rpcUrl: string | null };
}

/** A chain on which refunds are sent. */
export interface OpenedRefundChain {
  chain: RefundChain;
  /** Throws TypeError for a key that cannot be right, without showing it. */
  openWallet(key: string): Promise<RefundWallet>;
}

/** Loads the packages of the chain. `rpcTimeoutMs`: for one question to the node. */
export const openRefundChain = async ({
  rpcUrl,
  rpcTimeoutMs,
  ...place
}: Omit<RefundOptions, 'rpc'> & { rpcUrl: string; rpcTimeoutMs: number }): Promise<OpenedRefundChain> => {
  const { family } = place.network;
  const options = { ...place, rpc: createJsonRpc({ url: rpcUrl, timeoutMs: rpcTimeoutMs }) };
  return {
    chain: await family.openRefundChain(options),
    openWallet: async (key) => {
      const problem = family.secretKeyProblem(key);
      if (problem !== null) throw new TypeError(`it ${problem}`);
      return family.openRefundWallet(options, key);
    },
  };
};

/** The chain on which a payment can be refunded, or the reason why it cannot. */
export type RefundPlace =
  | {
      outcome: 'found';
      label: string;
      opened: OpenedRefundChain;
      /** Null when no key is configured. Throws TypeError for one that cannot be right, without showing it. */
      openWallet: () => Promise<RefundWallet | null>;
      keySetting: string;
    }
  | { outcome: 'not_configured' | 'unknown_token' | 'no_payer' };

const rpcTimeoutMs = 5_000;

/** Opens the configured chain of a token. Throws ConfigError. */
export const openRefundPlace = async (
  networks: readonly RefundNetwork[],
  { network: id, asset }: Pick<Payment, 'network' | 'asset'>,
  now: () => number,
): Promise<{ network: PaymentNetwork; opened: OpenedRefundChain } | 'not_configured' | 'unknown_token'> => {
  const configured = networks.find((candidate) => candidate.network === id);
  if (configured === undefined) return 'not_configured';
  const network = configuredNetwork(configured.network, configured.asset ?? null);
  if (network.asset.address.toLowerCase() !== asset.toLowerCase()) return 'unknown_token';
  const rpcUrl = configured.facilitator.rpcUrl ?? network.publicRpcUrl;
  return { network, opened: await openRefundChain({ network, rpcUrl, rpcTimeoutMs, now }) };
};

/**
 * Finds the chain of a payment and the wallet that refunds are paid from, by the gateway's configuration. Throws
 * ConfigError.
 */
export const findRefundPlace = async (
  { networks, refundKeys }: Pick<X402Config, 'networks' | 'refundKeys'>,
  payment: Pick<Payment, 'network' | 'asset' | 'payer'>,
  now: () => number,
): Promise<RefundPlace> => {
  const place = await openRefundPlace(networks, payment, now);
  if (typeof place === 'string') return { outcome: place };
  const { network, opened } = place;
  const { family } = network;
  if (payment.payer === null || family.addressProblem(payment.payer) !== null) return { outcome: 'no_payer' };
  const key = refundKeys[family.name] ?? null;
  return {
    outcome: 'found',
    label: network.label,
    opened,
    openWallet: async () => (key === null ? null : opened.openWallet(key)),
    keySetting: `${family.settingPrefix}_REFUND_KEY`,
  };
};
