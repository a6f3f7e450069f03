import { generateKeyPair, createPublicKey, verify } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import { sha256 } from '../../../kit/ids.ts';
import { nodeUrl, secret } from '../../../kit/settings.ts';
import type { NetworkFamily, SignedText } from '../core/network-family.ts';
import { decodeBase58, encodeBase58 } from './base58.ts';
import { createSolanaChain } from './solana-chain.ts';
import { solanaPayload, transactionOf } from './solana-payload.ts';

const publicKeyBytes = 32;
const signatureBytes = 64;

const findSolanaSigner = ({ text, address, ...signed }: SignedText): string | null => {
  const publicKey = decodeBase58(address);
  const signature = decodeBase58(signed.signature);
  if (publicKey?.length !== publicKeyBytes || signature?.length !== signatureBytes) return null;
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey).toString('base64url') },
    format: 'jwk',
  });
  return verify(null, Buffer.from(text), key, signature) ? `solana:${address}` : null;
};

const addressBytes = 32;
/** The seed, and the public key, which is the address. */
const secretKeyBytes = 64;

const addressSchema = z
  .string()
  .regex(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/, { error: ({ input }) => `${input} is not a Solana address` });
const keyForm = 'must be a base58 secret key of 64 bytes';
const keySchema = secret(z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{80,90}$/, keyForm));

/** Returns no bytes for text that `secretKeyProblem` refuses. */
const decodeKey = (key: string): Uint8Array => decodeBase58(key) ?? new Uint8Array();

export const solanaFamily: NetworkFamily = {
  name: 'solana',
  namespace: 'solana',
  settingPrefix: 'X402_SOLANA',
  variables: {
    PAY_TO: addressSchema
      .optional()
      .describe('wallet for payments on Solana, by default generated; the main network needs yours'),
    RPC_URL: nodeUrl.optional().describe('node of the Solana network'),
    FACILITATOR_KEY: keySchema
      .optional()
      .describe('key of a funded account that settles Solana payments here, with a node'),
    REFUND_KEY: keySchema.optional().describe('key that signs Solana refunds'),
  },
  addressSchema,
  defaultTransfer: null,
  finalityMs: 120_000,
  client: {
    packages: '@x402/svm @solana/kit',
    imports: [
      "import { ExactSvmScheme } from '@x402/svm/exact/client';",
      "import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';",
    ],
    signer:
      'const signer = await createKeyPairSignerFromBytes(getBase58Encoder().encode(process.env.SOLANA_SECRET_KEY));',
    scheme: 'ExactSvmScheme',
  },
  transactionPattern: /^[1-9A-HJ-NP-Za-km-z]{64,88}$/,

  // Base58 names differ by case.
  normalize: (text) => text,
  addressProblem: (address) =>
    decodeBase58(address)?.length === addressBytes ? null : 'is not 32 bytes in base58',
  secretKeyProblem: (key) => (decodeBase58(key)?.length === secretKeyBytes ? null : keyForm),
  // Wallets import the key in this form.
  walletSchema: z.object({ address: addressSchema, secretKey: keySchema }),
  createWallet: async () => {
    const { privateKey } = await promisify(generateKeyPair)('ed25519');
    const { d: seed, x: publicKey } = privateKey.export({ format: 'jwk' });
    if (seed === undefined || publicKey === undefined) throw new Error('an Ed25519 key has two halves');
    const address = Buffer.from(publicKey, 'base64url');
    const secretKey = Buffer.concat([Buffer.from(seed, 'base64url'), address]);
    return { address: encodeBase58(address), secretKey: encodeBase58(secretKey) };
  },

  payloadSchema: () => solanaPayload,
  // The fee payer's signature slot can be changed by anybody, so the message alone names the payment.
  identify: async (payload, { id }) => {
    const { readSolanaTransaction } = await import('./solana-transaction.ts');
    return `${id}:${sha256(readSolanaTransaction(transactionOf(payload)).message)}`;
  },
  findMismatch: () => null,
  findPayingAccounts: async ({ payload: { payload }, requirements }) =>
    (await import('./solana-transaction.ts')).findSolanaTransfer(transactionOf(payload), requirements),
  findWallet: async ({ address }) => `solana:${address}`,
  readFeePayer: async (payload) => {
    const { readSolanaTransaction } = await import('./solana-transaction.ts');
    return readSolanaTransaction(transactionOf(payload)).accounts[0] ?? null;
  },
  readSupported: (extra) => {
    const feePayer = extra?.['feePayer'];
    return typeof feePayer === 'string' ? { extra: { feePayer } } : 'unsupported';
  },

  signIn: { type: 'ed25519', account: 'Solana', whenUnstated: [] },
  findSigner: async (signed) => findSolanaSigner(signed),

  prepareLocal: (options) => {
    const secretKey = decodeKey(options.privateKey);
    return {
      kind: { extra: { feePayer: encodeBase58(secretKey.subarray(addressBytes)) } },
      load: async () => (await import('./local-solana.ts')).createLocalSolana(options, secretKey),
    };
  },

  findOutcome: async (payment, { rpc, signal, now }) => {
    const { findSolanaPayment } = await import('./find-solana-payment.ts');
    return findSolanaPayment(createSolanaChain(rpc, signal), payment, { ownSignature: null, now });
  },
  readFunds: ({ source }, { rpc, signal }) => createSolanaChain(rpc, signal).getTokenBalance(source),
  readTime: async ({ rpc, signal }) => (await createSolanaChain(rpc, signal).readClock()).blockTime * 1_000,
  findFaults: async (of, { rpc, signal }) =>
    (await import('./solana-self-check.ts')).findSolanaFaults(createSolanaChain(rpc, signal), of),

  openClient: async (key, { rpcUrl }) => {
    const { ExactSvmScheme } = await import('@x402/svm/exact/client');
    const { createKeyPairSignerFromBytes } = await import('@solana/kit');
    return new ExactSvmScheme(await createKeyPairSignerFromBytes(decodeKey(key)), { rpcUrl });
  },

  prepareTransfer: async (of, node) => (await import('./solana-transfer.ts')).makeUnsignedTransfer(of, node),

  openRefundChain: async (options) => (await import('./solana-refund.ts')).createSolanaRefundChain(options),
  openRefundWallet: async (options, key) =>
    (await import('./solana-refund.ts')).createSolanaRefundWallet(options, decodeKey(key)),
};
