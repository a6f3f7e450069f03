import { ConfigError } from '../errors.ts';
import type { Nano } from '../money.ts';

export type NetworkFamily = 'evm' | 'solana';

/** A token that is taken as payment, one token being one USD. */
export interface PaymentAsset {
  symbol: string;
  /** EVM: the contract, in checksum form. Solana: the mint. */
  address: string;
  /** Decimal places of the smallest unit. */
  decimals: number;
  /** The domain that EVM buyers sign under; null on Solana. */
  eip712: { name: string; version: string } | null;
}

export interface PaymentNetwork {
  /** CAIP-2, the name in x402 v2. */
  id: `${string}:${string}`;
  /** The name in x402 v1. */
  v1Name: string;
  family: NetworkFamily;
  /** For people. */
  label: string;
  isTest: boolean;
  /** A node that everybody may ask, slowly. */
  publicRpcUrl: string;
  asset: PaymentAsset;
}

const usdc = (address: string, eip712Name: string | null): PaymentAsset => ({
  symbol: 'USDC',
  address,
  decimals: 6,
  eip712: eip712Name === null ? null : { name: eip712Name, version: '2' },
});

/** The networks on which this service can be paid. */
export const paymentNetworks: readonly PaymentNetwork[] = [
  {
    id: 'eip155:8453',
    v1Name: 'base',
    family: 'evm',
    label: 'Base',
    isTest: false,
    publicRpcUrl: 'https://mainnet.base.org',
    asset: usdc('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', 'USD Coin'),
  },
  {
    id: 'eip155:84532',
    v1Name: 'base-sepolia',
    family: 'evm',
    label: 'Base Sepolia',
    isTest: true,
    publicRpcUrl: 'https://sepolia.base.org',
    asset: usdc('0x036CbD53842c5426634e7929541eC2318f3dCF7e', 'USDC'),
  },
  {
    id: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    v1Name: 'solana',
    family: 'solana',
    label: 'Solana',
    isTest: false,
    publicRpcUrl: 'https://api.mainnet-beta.solana.com',
    asset: usdc('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', null),
  },
  {
    id: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
    v1Name: 'solana-devnet',
    family: 'solana',
    label: 'Solana devnet',
    isTest: true,
    publicRpcUrl: 'https://api.devnet.solana.com',
    asset: usdc('4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU', null),
  },
];

/** The network of that CAIP-2 or v1 name; null for one that this service does not know. */
export const findNetwork = (name: string): PaymentNetwork | null =>
  paymentNetworks.find((network) => network.id === name || network.v1Name === name) ?? null;

/** The network of that CAIP-2 name. Throws ConfigError for one that this service does not know. */
export const requireNetwork = (id: string): PaymentNetwork => {
  const network = paymentNetworks.find((candidate) => candidate.id === id);
  if (network !== undefined) return network;
  const known = paymentNetworks.map((candidate) => candidate.id).join(', ');
  throw new ConfigError(`X402_NETWORKS: ${id} cannot take payments; the known networks are ${known}`);
};

const nanoDecimals = 9;

/**
 * A price in the asset's smallest unit, exactly. Throws RangeError for one that is not above zero or that is
 * finer than the smallest unit: rounding would charge another price than was named.
 */
export const toSmallestUnit = (price: Nano, decimals: number): bigint => {
  if (price <= 0n) throw new RangeError('a price must be above zero');
  if (decimals >= nanoDecimals) return price * 10n ** BigInt(decimals - nanoDecimals);
  const divisor = 10n ** BigInt(nanoDecimals - decimals);
  if (price % divisor !== 0n)
    throw new RangeError(`a price of ${price} nano-dollars is finer than ${decimals} decimals`);
  return price / divisor;
};
