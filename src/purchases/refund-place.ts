import type { Config } from '../config.ts';
import { addressProblem } from '../payments/address-problem.ts';
import { configuredNetwork } from '../payments/configured-network.ts';
import { openRefundChain, type OpenedRefundChain } from '../payments/refunds/open-refund-chain.ts';
import type { RefundWallet } from '../payments/refunds/refund-transfer.ts';
import type { Payment } from '../store/store.ts';

/** Where the money of a payment can be sent back, or why it cannot. */
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

/**
 * Finds the chain of a payment and the wallet that refunds are paid from, by the gateway's configuration. Throws
 * ConfigError.
 */
export const findRefundPlace = async (
  { networks, refundKeys }: Config['x402'],
  payment: Pick<Payment, 'network' | 'asset' | 'payer'>,
  now: () => number,
): Promise<RefundPlace> => {
  const configured = networks.find((candidate) => candidate.network === payment.network);
  if (configured === undefined) return { outcome: 'not_configured' };
  const network = configuredNetwork(configured.network, configured.asset);
  if (network.asset.address.toLowerCase() !== payment.asset.toLowerCase())
    return { outcome: 'unknown_token' };
  if (payment.payer === null || addressProblem(network.family, payment.payer) !== null)
    return { outcome: 'no_payer' };
  const rpcUrl = configured.facilitator.rpcUrl ?? network.publicRpcUrl;
  const opened = await openRefundChain({ network, rpcUrl, rpcTimeoutMs, now });
  const key = refundKeys[network.family];
  return {
    outcome: 'found',
    label: network.label,
    opened,
    openWallet: async () => (key === null ? null : opened.openWallet(key)),
    keySetting: `X402_${network.family.toUpperCase()}_REFUND_KEY`,
  };
};
