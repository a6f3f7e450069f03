import { z } from 'zod';
import type { SignInStyle } from '../chains/core/network-family.ts';
import type { Extension } from '../chains/core/wire.ts';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** The extension's key (specs/extensions/sign-in-with-x.md). */
export const signInWithX = 'sign-in-with-x';
/** The header of the answer to a challenge, as Node names it. */
export const signInHeader = 'sign-in-with-x';

/** One line: the signed text could be read in two ways if a field had more. */
const line = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^\P{Cc}*$/u, 'must be one line of plain text');

const maxResources = 10;
/** Contracts that are not deployed yet sign with the code that deploys them. */
const maxSignatureCharacters = 12_000;

/** The fields of a signed message, as the header or a body carries them. */
export const signInFields = {
  domain: line(255),
  address: line(128),
  statement: line(500).optional(),
  uri: line(2_048),
  version: z.literal('1', 'must be "1"'),
  chainId: line(80).regex(/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,64}$/, 'must be a CAIP-2 name'),
  nonce: line(128),
  issuedAt: line(40),
  expirationTime: line(40).optional(),
  notBefore: line(40).optional(),
  requestId: line(200).optional(),
  // Clients do not agree on the text of an empty list.
  resources: z.array(line(2_048)).min(1).max(maxResources).optional(),
  signature: line(maxSignatureCharacters),
};

const schema = z.object(signInFields);

export type SignedMessage = z.output<typeof schema>;

/** Reads a message; returns why it cannot be read, as text for its sender. */
export const parseSignedMessage = (sent: unknown): SignedMessage | string => {
  const parsed = schema.safeParse(sent);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return [issue?.path.join('.'), issue?.message].filter(Boolean).join(': ');
};

export const signInLifeMs = 300_000;
/** Clocks of replicas and clients may differ so much. */
const clockSkewMs = 5_000;

/** Returns why a message does not count at this service and time, as text for its sender; null for nothing. */
export const findSignInFault = (
  { domain, uri, issuedAt, expirationTime, notBefore }: SignedMessage,
  { publicUrl, now }: { publicUrl: string; now: number },
): string | null => {
  const { host, origin } = new URL(publicUrl);
  if (domain !== host) return `domain: must be ${host}`;
  if (URL.parse(uri)?.origin !== origin) return `uri: must be an address below ${origin}`;
  const age = now - Date.parse(issuedAt);
  if (!(age <= signInLifeMs)) return 'issuedAt: must be a time of the last five minutes';
  if (age < -clockSkewMs) return 'issuedAt: is in the future';
  if (expirationTime !== undefined && !(now < Date.parse(expirationTime))) return 'expirationTime: is over';
  if (notBefore !== undefined && !(Date.parse(notBefore) <= now + clockSkewMs))
    return 'notBefore: is in the future';
  return null;
};

/** Writes the text that a wallet signs: EIP-4361, where other chains name their own kind of account. */
export const toSignedText = (
  message: Omit<SignedMessage, 'signature'>,
  { account, whenUnstated }: Omit<SignInStyle, 'type'>,
): string => {
  const { domain, address, statement, uri, version, chainId, nonce, issuedAt } = message;
  const { expirationTime, notBefore, requestId, resources = [] } = message;
  const optional = (name: string, value: string | undefined): string[] =>
    value === undefined ? [] : [`${name}: ${value}`];
  return [
    `${domain} wants you to sign in with your ${account} account:`,
    address,
    '',
    ...(statement === undefined ? whenUnstated : [statement, '']),
    `URI: ${uri}`,
    `Version: ${version}`,
    `Chain ID: ${chainId.slice(chainId.indexOf(':') + 1)}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt}`,
    ...optional('Expiration Time', expirationTime),
    ...optional('Not Before', notBefore),
    ...optional('Request ID', requestId),
    ...(resources.length === 0 ? [] : ['Resources:', ...resources.map((resource) => `- ${resource}`)]),
  ].join('\n');
};

/** Names the fields of the header. Short, as the declaration stands in a header itself. */
const headerSchema: Extension['schema'] = {
  type: 'object',
  required: ['domain', 'address', 'uri', 'version', 'chainId', 'type', 'nonce', 'issuedAt', 'signature'],
};

interface SignInDeclaration extends Extension {
  supportedChains: { chainId: string; type: SignInStyle['type'] }[];
}

/** Makes the fields that do not depend on the wallet. `url`: where it signs in. `now`: epoch milliseconds. */
export const newSignInMessage = ({ url, nonce, now }: { url: string; nonce: string; now: number }) => ({
  domain: new URL(url).host,
  uri: url,
  version: '1' as const,
  nonce,
  issuedAt: new Date(now).toISOString(),
  expirationTime: new Date(now + signInLifeMs).toISOString(),
});

/** Declares how to sign in. `url`: where. `now`: epoch milliseconds. */
export const declareSignIn = ({
  chains,
  ...message
}: Parameters<typeof newSignInMessage>[0] & {
  chains: SignInDeclaration['supportedChains'];
}): SignInDeclaration => ({
  info: {
    ...newSignInMessage(message),
    statement: 'Sign in to use the balance of this wallet. It costs nothing.',
  },
  supportedChains: chains,
  schema: headerSchema,
});

/** The time in seconds (4 bytes), chance, and the code that shows that this service made it. */
const headBytes = 10;
const codeBytes = 12;

const pattern = new RegExp(`^[0-9a-f]{${2 * (headBytes + codeBytes)}}$`);

const codeOf = (head: Uint8Array, secret: string): Buffer =>
  createHmac('sha256', secret).update(head).digest().subarray(0, codeBytes);

/** Makes a nonce that needs no memory until it is used. `now`: epoch milliseconds. */
export const newSignInNonce = (secret: string, now: number): string => {
  const head = randomBytes(headBytes);
  head.writeUInt32BE(Math.floor(now / 1000));
  return Buffer.concat([head, codeOf(head, secret)]).toString('hex');
};

/** Returns when a nonce was made, in epoch milliseconds; null for one that was not made with this secret. */
export const readSignInNonce = (nonce: string, secret: string): number | null => {
  if (!pattern.test(nonce)) return null;
  const bytes = Buffer.from(nonce, 'hex');
  const head = bytes.subarray(0, headBytes);
  return timingSafeEqual(bytes.subarray(headBytes), codeOf(head, secret)) ? head.readUInt32BE() * 1000 : null;
};
