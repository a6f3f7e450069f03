import { createKeyPairSignerFromBytes, generateKeyPairSigner, getBase58Encoder } from '@solana/kit';
import { x402Client, x402HTTPClient } from '@x402/core/client';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/client';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { ExactSvmSchemeV1 } from '@x402/svm/exact/v1/client';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { Challenge } from '../../../src/payments/wire/challenge.ts';
import type { Proofs } from '../../../src/payments/wire/parse-proof.ts';
import type { Chains } from '../../chains/start-chains.ts';

export type ChainName = 'base' | 'solana';

export interface Buyer {
  addresses: { base: `0x${string}`; solana: string };
  /** The headers that a stock client answers a 402 with. */
  prove(challenge: Challenge, chain: ChainName, version?: 1 | 2): Promise<Proofs>;
}

const v1Names: Record<ChainName, string> = { base: 'base-sepolia', solana: 'solana-devnet' };

/** x402's own clients, with the keys of the local buyers, or of new and penniless ones. */
export const createBuyer = async ({ base, solana }: Chains, isNew = false): Promise<Buyer> => {
  const evm = privateKeyToAccount(isNew ? generatePrivateKey() : base.buyer.privateKey);
  const bytes = getBase58Encoder().encode(solana.buyer.secretKeyBase58);
  const svm = isNew
    ? await generateKeyPairSigner()
    : await createKeyPairSignerFromBytes(Uint8Array.from(bytes));
  const rpcUrl = solana.rpcUrl;
  const clientOf = (chain: ChainName): x402HTTPClient => {
    const client = new x402Client();
    if (chain === 'base')
      client
        .register(base.network, new ExactEvmScheme(evm))
        .registerV1(v1Names.base, new ExactEvmSchemeV1(evm));
    else
      client
        .register(solana.network, new ExactSvmScheme(svm, { rpcUrl }))
        .registerV1(v1Names.solana, new ExactSvmSchemeV1(svm, { rpcUrl }));
    return new x402HTTPClient(client);
  };
  return {
    addresses: { base: evm.address, solana: svm.address },
    prove: async (challenge, chain, version = 2) => {
      const http = clientOf(chain);
      const header = version === 2 ? challenge.header : null;
      const required = http.getPaymentRequiredResponse(
        (name) => (name.toLowerCase() === 'payment-required' ? header : null),
        challenge.body,
      );
      const headers = http.encodePaymentSignatureHeader(await http.createPaymentPayload(required));
      return { xPayment: headers['X-PAYMENT'], paymentSignature: headers['PAYMENT-SIGNATURE'] };
    },
  };
};
