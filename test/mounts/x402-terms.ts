import { findNetwork } from '../../src/payments/chains/networks.ts';

/** An EVM key without money: it signs, and nothing is settled. */
export const walletKey = `0x${'42'.repeat(32)}`;

const network = findNetwork('base-sepolia');

/** How calls of a mounted server are paid, on a test network, from `WALLET_KEY`. */
export const payYaml = {
  x402: {
    wallet_env: 'WALLET_KEY',
    max_usd_per_call: '0.10',
    max_usd_per_day: '1.00',
    networks: ['base-sepolia'],
  },
};

/** Terms of x402 v2 for a cent. */
export const centTerms = {
  x402Version: 2,
  error: 'pay',
  resource: { url: 'mcp://tool/echo', description: 'Echo', mimeType: 'application/json' },
  accepts: [
    {
      scheme: 'exact',
      network: network?.id,
      asset: network?.asset.address,
      amount: '10000',
      payTo: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      maxTimeoutSeconds: 60,
      extra: network?.asset.eip712,
    },
  ],
};
