import { ApiError, longestMs, messageOf, ToldError } from './api.ts';
import { toBase64Json } from './pay/terms.ts';
import type { Wallet } from './pay/wallets.ts';

type Fields = Readonly<
  Record<'domain' | 'statement' | 'uri' | 'version' | 'nonce' | 'issuedAt' | 'expirationTime', string>
>;

/** The extension sign-in-with-x of a challenge. The header PAYMENT-REQUIRED has no room for long ones. */
interface Challenge {
  extensions?: {
    'sign-in-with-x'?: { info: Fields; supportedChains: { chainId: string }[] };
  };
}

/** Names the accounts of wallets for people, and in the text that they sign. */
export const accountKinds = { eip155: 'Ethereum', solana: 'Solana' } as const;

interface Signer {
  account: string;
  address: string;
  chainId: string;
}

/** The text of EIP-4361, where Solana names its own kind of account. */
const textOf = ({ domain, statement, ...fields }: Fields, { account, address, chainId }: Signer): string =>
  [
    `${domain} wants you to sign in with your ${account} account:`,
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

const lifeSeconds = 12 * 3_600;

/** Asks a wallet to sign in, which costs nothing. Returns a key of its account. Throws ToldError. */
export const signWalletIn = async ({ namespace, signText }: Wallet, base: string): Promise<string> => {
  const post = (headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(`${base}/v1/auth/wallet`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ expires_in: lifeSeconds }),
      signal: AbortSignal.timeout(longestMs),
    });
  const asked = await post();
  if (asked.status !== 402) throw new ApiError(asked.status, await messageOf(asked));
  const { extensions } = (await asked.json()) as Challenge;
  const { info, supportedChains = [] } = extensions?.['sign-in-with-x'] ?? {};
  const chain = supportedChains.find(({ chainId }) => chainId.startsWith(`${namespace}:`));
  if (info === undefined || chain === undefined || signText === undefined)
    throw new ToldError('This wallet cannot sign in just now. Try again shortly.');
  const account = accountKinds[namespace];
  const signed = await signText((address) => textOf(info, { account, address, ...chain }));
  const answer = await post({ 'sign-in-with-x': toBase64Json({ ...info, ...chain, ...signed }) });
  if (answer.status === 401)
    throw new ToldError('The signature is too old, or of another wallet. Sign again.');
  if (!answer.ok) throw new ApiError(answer.status, await messageOf(answer));
  return ((await answer.json()) as { key: string }).key;
};
