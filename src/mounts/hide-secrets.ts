import type { MountTarget } from './mount-settings.ts';

/** Shorter ones are no secrets, and stand in many words. */
const leastLength = 8;

/** The tokens that went to servers last. No setting has them, and a server may repeat one that was renewed since. */
const sentTokens = new WeakMap<MountTarget, readonly string[]>();

/** Notes a token that goes to a server, so that it is hidden, too. */
export const noteToken = (target: MountTarget, token: string): void => {
  const known = sentTokens.get(target) ?? [];
  if (!known.includes(token)) sentTokens.set(target, [token, ...known.slice(0, 1)]);
};

/**
 * Replaces what a server was given (the environment of a program, the credentials for an address) by the names, in a text
 * for the log. A text may have one line alone of a secret.
 */
export const hideSecrets = (text: string, target: MountTarget): string =>
  secretsOf(target)
    .flatMap(([name, value]) => value.split(/[\r\n]+/).map((line) => [name, line] as const))
    .filter(([, line]) => line.length >= leastLength)
    .toSorted(([, a], [, b]) => b.length - a.length)
    .reduce((left, [name, line]) => left.replaceAll(line, `[${name}]`), text);

/**
 * Says why a server failed, without a full stop. What a server or the system says is of any length, and may repeat what it
 * was told.
 */
export const toReason = (error: unknown, target: MountTarget): string =>
  hideSecrets(error instanceof Error ? error.message : '', target)
    .slice(0, 200)
    .replace(/\.$/, '');

const secretsOf = (target: MountTarget): [name: string, value: string][] => {
  if (target.kind === 'stdio') return Object.entries(target.env).filter(([name]) => name !== 'PATH');
  const headers = Object.entries(target.headers).map(([name, value]): [string, string] => [
    name,
    value.replace(/^Bearer /, ''),
  ]);
  const tokens = sentTokens.get(target) ?? [];
  const secret = target.oauth?.secret;
  return [
    ...headers,
    ...tokens.map((token): [string, string] => ['token', token]),
    ...(secret === undefined ? [] : [['client_secret', secret] satisfies [string, string]]),
  ];
};
