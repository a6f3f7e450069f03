import { useEffect, useState } from 'preact/hooks';
import { ApiError } from './api.ts';

/** A wallet of the browser (EIP-1193), which announces itself by EIP-6963. */
export interface Wallet {
  id: string;
  name: string;
  provider: { request(call: { method: string; params?: readonly unknown[] }): Promise<unknown> };
}

type Announcement = CustomEvent<{ info: { uuid: string; name: string }; provider: Wallet['provider'] }>;

export const useWallets = (): readonly Wallet[] => {
  const [wallets, setWallets] = useState<readonly Wallet[]>([]);
  useEffect(() => {
    const note = (event: Event): void => {
      const { info, provider } = (event as Announcement).detail;
      const wallet = { id: info.uuid, name: info.name, provider };
      setWallets((known) => [...known.filter(({ id }) => id !== wallet.id), wallet]);
    };
    globalThis.addEventListener('eip6963:announceProvider', note);
    globalThis.dispatchEvent(new Event('eip6963:requestProvider'));
    return () => globalThis.removeEventListener('eip6963:announceProvider', note);
  }, []);
  return wallets;
};

type Fields = Readonly<
  Record<'domain' | 'statement' | 'uri' | 'version' | 'nonce' | 'issuedAt' | 'expirationTime', string>
>;

/** The extension sign-in-with-x of a challenge. */
interface Challenge {
  extensions: {
    'sign-in-with-x': { info: Fields; supportedChains: { chainId: string; type: string }[] };
  };
}

/** The text of EIP-4361. */
const textOf = ({ domain, statement, ...fields }: Fields, address: string, chainId: string): string =>
  [
    `${domain} wants you to sign in with your Ethereum account:`,
    address,
    '',
    statement,
    '',
    `URI: ${fields.uri}`,
    `Version: ${fields.version}`,
    `Chain ID: ${chainId.split(':')[1]}`,
    `Nonce: ${fields.nonce}`,
    `Issued At: ${fields.issuedAt}`,
    `Expiration Time: ${fields.expirationTime}`,
  ].join('\n');

const toHex = (text: string): string =>
  `0x${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;

const longestMs = 30_000;
const lifeSeconds = 12 * 3_600;

/** Asks a wallet to sign in, which costs nothing. Returns a key of its account. Throws ApiError. */
export const signWalletIn = async ({ provider }: Wallet, base: string): Promise<string> => {
  const post = (headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(`${base}/v1/auth/wallet`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ expires_in: lifeSeconds }),
      signal: AbortSignal.timeout(longestMs),
    });
  const terms = (await post()).headers.get('payment-required');
  const challenge = terms === null ? null : (JSON.parse(atob(terms)) as Challenge);
  const { info, supportedChains = [] } = challenge?.extensions['sign-in-with-x'] ?? {};
  const chain = supportedChains.find(({ type }) => type === 'eip191');
  if (info === undefined || chain === undefined)
    throw new ApiError(503, 'No wallet can sign in just now. Try again shortly.');
  try {
    const [address = ''] = (await provider.request({ method: 'eth_requestAccounts' })) as string[];
    const params = [toHex(textOf(info, address, chain.chainId)), address];
    const signature = await provider.request({ method: 'personal_sign', params });
    const answer = await post({
      'sign-in-with-x': btoa(JSON.stringify({ ...info, ...chain, address, signature })),
    });
    const { key, error } = (await answer.json()) as { key?: string; error?: { message: string } };
    if (key === undefined) throw new Error(error?.message ?? 'the gateway refused it');
    return key;
  } catch (error) {
    throw new ApiError(400, `The wallet did not sign in: ${(error as Error).message}`);
  }
};
