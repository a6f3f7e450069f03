import { createECDH } from 'node:crypto';
import { keccak_256 } from '@noble/hashes/sha3';
import { z } from 'zod';
import { nodeUrl, secret } from '../../../kit/settings.ts';
import type { NetworkFamily } from '../core/network-family.ts';
import { createEvmChain, nameEvmWallet } from './evm-chain.ts';
import { evmPayloadSchema, findEvmMismatch, permit2Contracts, toEvmPayload } from './evm-payload.ts';

const addressSchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, { error: ({ input }) => `${input} is not an EVM address` });
const keyPattern = /^0x[0-9a-fA-F]{64}$/;
const keyForm = 'must be 0x and 64 hex digits';
const keySchema = secret(z.string().regex(keyPattern, keyForm));

const withChecksum = (digits: string): string => {
  const lower = digits.toLowerCase();
  const hash = Buffer.from(keccak_256(Buffer.from(lower, 'latin1'))).toString('hex');
  return Array.from(lower)
    .map((digit, index) => (parseInt(hash.charAt(index), 16) >= 8 ? digit.toUpperCase() : digit))
    .join('');
};

/** An address in mixed case carries a checksum (EIP-55), which finds a mistyped character. */
const addressProblem = (address: string): string | null => {
  const digits = address.slice(2);
  if (/^0+$/.test(digits)) return 'is the zero address';
  const isOneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase();
  return isOneCase || digits === withChecksum(digits)
    ? null
    : 'has a wrong checksum (EIP-55): a character is mistyped';
};

export const evmFamily: NetworkFamily = {
  name: 'evm',
  namespace: 'eip155',
  settingPrefix: 'X402_EVM',
  variables: {
    PAY_TO: addressSchema
      .optional()
      .describe('wallet for payments on EVM networks, by default generated; main networks need yours'),
    RPC_URL: nodeUrl.optional().describe('node of the one EVM network that has none in `causeway.yaml`'),
    FACILITATOR_KEY: keySchema
      .optional()
      .describe('key of a funded account that settles EVM payments here, with a node'),
    REFUND_KEY: keySchema.optional().describe('key that signs EVM refunds'),
  },
  addressSchema,
  defaultTransfer: 'eip3009',
  finalityMs: 1_800_000,
  client: {
    packages: '@x402/evm viem',
    imports: [
      "import { ExactEvmScheme } from '@x402/evm/exact/client';",
      "import { privateKeyToAccount } from 'viem/accounts';",
    ],
    signer: 'const signer = privateKeyToAccount(process.env.EVM_PRIVATE_KEY);',
    scheme: 'ExactEvmScheme',
  },
  transactionPattern: /^0x[0-9a-fA-F]{64}$/,

  // Hex is written in either case.
  normalize: (text) => (/^(?:0x|eip155:)/i.test(text) ? text.toLowerCase() : text),
  addressProblem,
  secretKeyProblem: (key) => (keyPattern.test(key) ? null : keyForm),
  walletSchema: z.object({ address: addressSchema, privateKey: keySchema }),
  createWallet: async () => {
    // viem would be loaded at the first start for this alone.
    const key = createECDH('secp256k1');
    const digits = Buffer.from(keccak_256(key.generateKeys().subarray(1)))
      .toString('hex')
      .slice(-40);
    const privateKey = key.getPrivateKey('hex').padStart(64, '0');
    return { address: `0x${withChecksum(digits)}`, privateKey: `0x${privateKey}` };
  },

  payloadSchema: evmPayloadSchema,
  identify: async (payload, { id, asset }) => {
    const signed = toEvmPayload(payload);
    const isEip3009 = 'authorization' in signed;
    const { from, nonce } = isEip3009 ? signed.authorization : signed.permit2Authorization;
    // The network's own USDC stands for every token: v1 proofs do not name theirs, and the configured one may change.
    const contract = isEip3009 ? asset.address : permit2Contracts.permit2;
    return `${id}:${contract}:${from}:${nonce}`.toLowerCase();
  },
  findMismatch: (payload, { terms, asset }) => {
    const signed = toEvmPayload(payload);
    const method = 'authorization' in signed ? 'eip3009' : 'permit2';
    const wanted = terms.scheme === 'upto' ? 'permit2' : asset.transfer;
    return method === wanted ? findEvmMismatch(signed, terms) : 'payment_method_mismatch';
  },
  findPayingAccounts: async ({ payload: { payload } }) => {
    const signed = toEvmPayload(payload);
    const { from } = 'authorization' in signed ? signed.authorization : signed.permit2Authorization;
    return { payer: from, source: from.toLowerCase() };
  },
  findWallet: ({ address, payload, network }, { rpc, signal }) =>
    nameEvmWallet(createEvmChain(rpc, signal), {
      address,
      signature: toEvmPayload(payload).signature,
      network: network.id,
    }),
  readFeePayer: async () => null,
  // EVM terms need nothing from the facilitator, so they hold before it was first asked.
  readSupported: () => ({ extra: {} }),

  signIn: { type: 'eip191', account: 'Ethereum', whenUnstated: [''] },
  findSigner: async (signed, { rpc, signal }) =>
    (await import('./find-evm-signer.ts')).findEvmSigner(signed, createEvmChain(rpc, signal)),

  prepareLocal: (options) => ({
    kind: { extra: {} },
    load: async () => (await import('./local-evm.ts')).createLocalEvm(options),
  }),

  findOutcome: async (payment, { rpc, signal }) =>
    (await import('./evm-outcome.ts')).findEvmOutcome(
      createEvmChain(rpc, signal),
      payment,
      payment.transaction,
    ),
  readFunds: async ({ source: owner, asset, payload }, { rpc, signal }) => {
    const chain = createEvmChain(rpc, signal);
    const { readPermit2Funds, readTokenBalance } = await import('./evm-token.ts');
    return 'authorization' in toEvmPayload(payload)
      ? readTokenBalance(chain, { asset, owner })
      : readPermit2Funds(chain, { asset, owner });
  },
  readTime: async ({ rpc, signal }) =>
    Number((await createEvmChain(rpc, signal).getBlock()).timestamp) * 1_000,
  findFaults: async ({ network }, { rpc, signal }) =>
    (await import('./evm-self-check.ts')).findEvmFaults(createEvmChain(rpc, signal), network),

  openClient: async (key) => {
    const { ExactEvmScheme } = await import('@x402/evm/exact/client');
    const { privateKeyToAccount } = await import('viem/accounts');
    return new ExactEvmScheme(privateKeyToAccount(`0x${key.slice(2)}`));
  },

  openRefundChain: async (options) => (await import('./evm-refund.ts')).createEvmRefundChain(options),
  openRefundWallet: async (options, key) =>
    (await import('./evm-refund.ts')).createEvmRefundWallet(options, `0x${key.slice(2)}`),
};
