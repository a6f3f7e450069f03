import type { PaymentAsset, PaymentNetwork } from '../chains/core/network-family.ts';
import { configuredNetwork } from '../chains/networks.ts';
import { createJsonRpc } from '../chains/core/json-rpc.ts';
import type { RefundChain, RefundWallet } from '../chains/core/refund-transfer.ts';
import type { Payment } from '../../store/store.ts';

export interface RefundNetwork {
  network: string;
  asset?: PaymentAsset | null;
  /** `rpcUrl` null: the network's public node. */
  facilitator: { rpcUrl: string | null };
}

export interface OpenedRefundChain {
  network: PaymentNetwork;
  chain: RefundChain;
  /** Throws TypeError for a key that cannot be right, without showing it. */
  openWallet(key: string): Promise<RefundWallet>;
}

/** Loads the packages of the chain. `rpcTimeoutMs`: for one question to the node. Throws ConfigError. */
export const openRefundChain = async (
  networks: readonly RefundNetwork[],
  { network: id, asset }: Pick<Payment, 'network' | 'asset'>,
  { now, rpcTimeoutMs = 5_000 }: { now: () => number; rpcTimeoutMs?: number },
): Promise<OpenedRefundChain | 'not_configured' | 'unknown_token'> => {
  const configured = networks.find((candidate) => candidate.network === id);
  if (configured === undefined) return 'not_configured';
  const network = configuredNetwork(configured.network, configured.asset ?? null);
  if (network.asset.address.toLowerCase() !== asset.toLowerCase()) return 'unknown_token';
  const url = configured.facilitator.rpcUrl ?? network.publicRpcUrl;
  const { family } = network;
  const options = { network, now, rpc: createJsonRpc({ url, timeoutMs: rpcTimeoutMs }) };
  return {
    network,
    chain: await family.openRefundChain(options),
    openWallet: async (key) => {
      const problem = family.secretKeyProblem(key);
      if (problem !== null) throw new TypeError(`it ${problem}`);
      return family.openRefundWallet(options, key);
    },
  };
};
