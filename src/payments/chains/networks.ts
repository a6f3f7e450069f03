import { ConfigError } from '../../kit/errors.ts';
import { evmFamily } from './evm/evm-family.ts';
import { solanaFamily } from './solana/solana-family.ts';
import type { PaymentAsset, PaymentNetwork, NetworkFamily } from './core/network-family.ts';

const usdc = (address: string): PaymentAsset => ({
  symbol: 'USDC',
  address,
  decimals: 6,
  eip712: null,
  transfer: null,
});

const eip3009Usdc = (address: string, name: string): PaymentAsset => ({
  ...usdc(address),
  eip712: { name, version: '2' },
  transfer: 'eip3009',
});

/** Binance's own USDC: 18 decimals, and neither ERC-3009 nor ERC-2612. */
const bnbUsdc = (address: string): PaymentAsset => ({
  ...usdc(address),
  decimals: 18,
  transfer: 'permit2',
});

const ether = { symbol: 'ETH', decimals: 18 };
/** In wei: hundreds of times the usual cost on Base and BNB Chain. */
const cheapGas = 5_000_000_000_000_000n;

const base = { isInV1: true, family: evmFamily, coin: ether, maxGasCost: cheapGas };
// The cost of a settlement at 180 gwei a unit of gas.
const ethereum = { isInV1: false, family: evmFamily, coin: ether, maxGasCost: 20_000_000_000_000_000n };
const bnbChain = {
  isInV1: false,
  family: evmFamily,
  coin: { symbol: 'BNB', decimals: 18 },
  maxGasCost: cheapGas,
};
const solana = { isInV1: true, family: solanaFamily, coin: { symbol: 'SOL', decimals: 9 }, maxGasCost: null };

/**
 * The networks on which this service can be paid. On Base, Ethereum and Solana, assets and v1 names are those of x402's
 * own clients. The USDC of Ethereum Sepolia is Circle's (developers.circle.com). The USDC of BNB Chain is Binance-Peg
 * USD Coin, and its counterpart on the test net. x402 v1 has no official names for BNB Chain; these are the usual ones.
 * The self-check compares all this with the chain at the start.
 */
export const paymentNetworks: readonly PaymentNetwork[] = [
  {
    ...base,
    id: 'eip155:8453',
    v1Name: 'base',
    label: 'Base',
    isTest: false,
    publicRpcUrl: 'https://mainnet.base.org',
    asset: eip3009Usdc('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', 'USD Coin'),
  },
  {
    ...base,
    id: 'eip155:84532',
    v1Name: 'base-sepolia',
    label: 'Base Sepolia',
    isTest: true,
    publicRpcUrl: 'https://sepolia.base.org',
    asset: eip3009Usdc('0x036CbD53842c5426634e7929541eC2318f3dCF7e', 'USDC'),
  },
  {
    ...ethereum,
    id: 'eip155:1',
    v1Name: 'ethereum',
    label: 'Ethereum',
    isTest: false,
    publicRpcUrl: 'https://ethereum-rpc.publicnode.com',
    asset: eip3009Usdc('0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', 'USD Coin'),
  },
  {
    ...ethereum,
    id: 'eip155:11155111',
    v1Name: 'sepolia',
    label: 'Ethereum Sepolia',
    isTest: true,
    publicRpcUrl: 'https://ethereum-sepolia-rpc.publicnode.com',
    asset: eip3009Usdc('0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238', 'USDC'),
  },
  {
    ...bnbChain,
    id: 'eip155:56',
    v1Name: 'bsc',
    label: 'BNB Chain',
    isTest: false,
    publicRpcUrl: 'https://bsc-dataseed.bnbchain.org',
    asset: bnbUsdc('0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d'),
  },
  {
    ...bnbChain,
    id: 'eip155:97',
    v1Name: 'bsc-testnet',
    label: 'BNB Chain test net',
    isTest: true,
    publicRpcUrl: 'https://bsc-testnet-dataseed.bnbchain.org',
    asset: bnbUsdc('0x64544969ed7EBf5f083679233325356EbE738930'),
  },
  {
    ...solana,
    id: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    v1Name: 'solana',
    label: 'Solana',
    isTest: false,
    publicRpcUrl: 'https://api.mainnet-beta.solana.com',
    asset: usdc('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'),
  },
  {
    ...solana,
    id: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
    v1Name: 'solana-devnet',
    label: 'Solana devnet',
    isTest: true,
    publicRpcUrl: 'https://api.devnet.solana.com',
    asset: usdc('4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU'),
  },
];

/**
 * Finds the network of a CAIP-2 or v1 name; null for one that this service does not know. The networks of `configured`
 * come first, as their asset may differ from the built-in one.
 */
export const findNetwork = (
  name: string,
  configured: readonly PaymentNetwork[] = [],
): PaymentNetwork | null =>
  [...configured, ...paymentNetworks].find((network) => network.id === name || network.v1Name === name) ??
  null;

/** Returns the network of a CAIP-2 name. Throws ConfigError for one that this service does not know. */
export const requireNetwork = (id: string): PaymentNetwork => {
  const network = paymentNetworks.find((candidate) => candidate.id === id);
  if (network !== undefined) return network;
  const known = paymentNetworks.map((candidate) => candidate.id).join(', ');
  throw new ConfigError(`X402_NETWORKS: ${id} cannot take payments; the known networks are ${known}`);
};

/**
 * Returns the network of a CAIP-2 name, with the configured token in place of its USDC unless that is null. Throws
 * ConfigError for a network that this service does not know, and for a token whose address cannot be right.
 */
export const configuredNetwork = (id: string, asset: PaymentAsset | null): PaymentNetwork => {
  const network = requireNetwork(id);
  if (asset === null) return network;
  const problem = network.family.addressProblem(asset.address);
  if (problem !== null)
    throw new ConfigError(`causeway.yaml: x402.networks.${id}.asset.address: ${asset.address} ${problem}`);
  return { ...network, asset };
};

export const networkFamilies: readonly NetworkFamily[] = [evmFamily, solanaFamily];

export const findFamily = (network: string): NetworkFamily | null =>
  networkFamilies.find(({ namespace }) => network.startsWith(`${namespace}:`)) ?? null;

/**
 * Writes a program (an ES module) that gets `url` and pays for it on `network` (CAIP-2) with the official x402 client.
 * Texts from outside stand in it as string literals. Empty for a network of no known family.
 */
export const clientSnippet = ({ url, network }: { url: string; network: string }): string => {
  const client = findFamily(network)?.client;
  if (client === undefined) return '';
  const { packages, imports, signer, scheme } = client;
  return [
    `// npm install @x402/fetch ${packages}`,
    "import { wrapFetchWithPaymentFromConfig } from '@x402/fetch';",
    ...imports,
    '',
    signer,
    'const payingFetch = wrapFetchWithPaymentFromConfig(fetch, {',
    `  schemes: [{ network: ${JSON.stringify(network)}, client: new ${scheme}(signer) }],`,
    '});',
    `const response = await payingFetch(${JSON.stringify(url)});`,
    'console.log(await response.json());',
  ].join('\n');
};
