import type { AssetConfig } from '../x402-settings.ts';
import { ConfigError } from '../../kit/errors.ts';
import { addressProblem } from './address-problem.ts';
import { requireNetwork, type PaymentNetwork } from './networks.ts';

/**
 * The network of that CAIP-2 name, with the token that was configured in place of its USDC. Throws ConfigError for a
 * network that this service does not know, and for a token that cannot be right.
 */
export const configuredNetwork = (id: string, asset: AssetConfig | null): PaymentNetwork => {
  const network = requireNetwork(id);
  if (asset === null) return network;
  const problem = addressProblem(network.family, asset.address);
  if (problem !== null)
    throw new ConfigError(`causeway.yaml: x402.networks.${id}.asset.address: ${asset.address} ${problem}`);
  return { ...network, asset };
};
