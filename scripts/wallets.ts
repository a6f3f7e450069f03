import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import type { SIWxSigner } from '@x402/extensions/sign-in-with-x';
import { wrapFetchWithPayment, x402Client, type SchemeRegistration } from '@x402/fetch';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { isHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

/** A wallet of a buyer, which pays and signs in. */
export interface Wallet {
  scheme: SchemeRegistration;
  signer: SIWxSigner;
}

export interface WalletKeys {
  /** 0x and 64 hex digits. */
  evmKey?: string | undefined;
  /** base58 */
  solanaKey?: string | undefined;
  /** Default: a public node of the network. */
  solanaRpcUrl?: string | undefined;
}

/** Loads the wallets of these keys. Throws Error for a malformed key. */
export const loadWallets = async ({ evmKey, solanaKey, solanaRpcUrl }: WalletKeys): Promise<Wallet[]> => {
  const wallets: Wallet[] = [];
  if (evmKey !== undefined) {
    if (!isHex(evmKey) || evmKey.length !== 66)
      throw new Error("the buyer's EVM key must be 0x and 64 hex digits");
    const signer = privateKeyToAccount(evmKey);
    wallets.push({ scheme: { network: 'eip155:*', client: new ExactEvmScheme(signer) }, signer });
  }
  if (solanaKey !== undefined) {
    const signer = await createKeyPairSignerFromBytes(new Uint8Array(getBase58Encoder().encode(solanaKey)));
    const options = solanaRpcUrl === undefined ? undefined : { rpcUrl: solanaRpcUrl };
    wallets.push({
      scheme: { network: 'solana:*', client: new ExactSvmScheme(signer, options) },
      // The client's types are of another version of the wallet library.
      signer: signer as unknown as SIWxSigner,
    });
  }
  return wallets;
};

/** Returns a fetch that pays what is asked. `maxUsd`: the most that it pays at once; default: the client's own, $1. */
export const payingFetch = (wallets: readonly Wallet[], maxUsd?: string): typeof fetch => {
  const client = new x402Client();
  for (const { scheme } of wallets) client.register(scheme.network, scheme.client);
  if (maxUsd !== undefined) client.setSpendControls({ maxAmountPerPayment: `$${maxUsd}` });
  return wrapFetchWithPayment(fetch, client);
};

/** Signs the first of these wallets in, and returns the answer with a key of its account. */
export const signIn = async (
  gateway: string | URL,
  wallets: readonly Wallet[],
  { seconds, signal }: { seconds: number; signal: AbortSignal },
): Promise<Response> => {
  // Loaded here, because it takes a second, and is in a whole install alone.
  const { createSIWxClientExtension } = await import('@x402/extensions/sign-in-with-x');
  const signers = wallets.slice(0, 1).map(({ signer }) => signer);
  // It can sign in and cannot pay, so a refused message does not become a payment.
  const client = new x402Client().registerExtension(createSIWxClientExtension({ signers }));
  return wrapFetchWithPayment(fetch, client)(new URL('/v1/auth/wallet', gateway), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ expires_in: seconds }),
    signal,
  });
};
