import { outliveOutage, pause } from '../kit/repeat.ts';
import type { ToolSecret } from '../store/store.ts';
import { stepMs, type OAuthState } from './ask-for-grant.ts';
import type { MountParts } from './create-mount.ts';
import { UnsentError } from './mounted-server.ts';
import { signInName } from './oauth-settings.ts';
import type { Owner, SecretVault } from './secret-vault.ts';

interface GrantParts extends Pick<MountParts, 'clock' | 'log'> {
  vault: SecretVault;
  /** By server. */
  places: ReadonlyMap<string, string>;
  /** Renews the tokens of a sign-in. Rejects with SignInError. */
  renew: (server: string, oauth: OAuthState) => Promise<unknown>;
}

/** A sign-in of an account, as it is encrypted. */
interface Grant {
  /** While a person signs in, the state that comes back. Then it stays until the account signs in anew. */
  id: string;
  /** Of its server. At another place, it is as if the account had not signed in. */
  place: string;
  oauth: OAuthState;
  /** While a person signs in: the SHA-256 of the key with which they began. */
  keyHash?: string;
  /** When the token is renewed, or the person is too late. Null: when the server refuses the token. */
  until: number | null;
  /** When the token ends. Null: that is not known, or there is none yet. */
  endsAt: number | null;
  /** Up to then one gateway renews the token, and the others wait. */
  renewingUntil: number;
}
type StoredGrant = Grant & { secret: ToolSecret };

const pollMs = 250;

/** Keeps the sign-ins of accounts, and their tokens, in the vault. */
export const createGrants = (parts: GrantParts) => {
  const { vault, clock, places } = parts;
  const keep = (owner: Owner, name: string, grant: Omit<Grant, 'place'>) =>
    vault.set({ ...owner, name }, JSON.stringify({ ...grant, place: places.get(owner.server) }));
  const isOfPlace = (owner: Owner, secret: ToolSecret): boolean =>
    openGrant(vault, owner, secret).place === places.get(owner.server);
  const readGrant = async (owner: Owner, name: string): Promise<StoredGrant | null> => {
    const [secret] = await vault.list(owner, [name]);
    return secret === undefined || !isOfPlace(owner, secret)
      ? null
      : { ...openGrant(vault, owner, secret), secret };
  };

  /** Returns the token, renewed if its end is near or the server refused it. Rejects with UnsentError. */
  const giveToken = async (owner: Owner, refused: string | null): Promise<string> => {
    for (const giveUpAt = performance.now() + 2 * stepMs; performance.now() < giveUpAt;) {
      const found = await readGrant(owner, signInName);
      const token = found?.oauth.tokens?.access_token;
      if (found === null || token === undefined) throw new UnsentError('the account has not signed in');
      const now = clock.now();
      const isGood = token !== refused && now < (found.endsAt ?? Infinity);
      // While one gateway renews a token that is still good, the others use it.
      if (isGood && now < Math.max(found.until ?? Infinity, found.renewingUntil)) return token;
      if (now < found.renewingUntil) await pause(pollMs);
      else {
        const renewed = await renewOnce(owner, found, { ...parts, fallback: isGood ? token : null });
        if (renewed !== null) return renewed;
      }
    }
    throw new UnsentError('the token is not renewed in time');
  };

  return {
    /** Keeps a sign-in under a name, in place of the former one. */
    keep,
    /** Returns a sign-in; null: there is none at this place. */
    read: readGrant,
    giveToken,
    /** Lists secrets as the vault does, but for a sign-in that was made at another place. */
    list: async (owner: Owner, names: readonly string[]): Promise<ToolSecret[]> =>
      (await vault.list(owner, names)).filter((one) => one.name !== signInName || isOfPlace(owner, one)),
    /** Returns a text that changes with the secrets of an account, but not when a token is renewed. */
    identify: (owner: Owner, secrets: readonly ToolSecret[]): string =>
      JSON.stringify(secrets.map((one) => (one.name === signInName ? openGrant(vault, owner, one).id : one))),
  };
};

const openGrant = (vault: SecretVault, owner: Owner, secret: ToolSecret): Grant =>
  JSON.parse(vault.open(owner, secret)) as Grant;

/** A token that can be renewed is renewed in the middle of its life. */
export const toLife = (
  oauth: OAuthState,
  now: number,
): Pick<Grant, 'oauth' | 'until' | 'endsAt' | 'renewingUntil'> => {
  const { expires_in: seconds = -1, refresh_token: refreshToken } = oauth.tokens ?? {};
  const endsAt = seconds < 0 ? null : now + seconds * 1_000;
  const until = refreshToken === undefined ? endsAt : halfWay(now, endsAt);
  return { oauth, until, endsAt, renewingUntil: 0 };
};

const halfWay = (now: number, endsAt: number | null): number | null => endsAt && (now + endsAt) / 2;

/**
 * One gateway renews, because an authorization server ends a grant whose refresh token comes twice. Returns the new token;
 * `fallback` if there is none now; null if another gateway renews, or the sign-in was ended. Rejects with UnsentError.
 */
const renewOnce = async (
  owner: Owner,
  { secret, ...grant }: StoredGrant,
  { vault, clock, log, renew, fallback }: GrantParts & { fallback: string | null },
): Promise<string | null> => {
  const replace = (next: Grant | null, former: Pick<ToolSecret, 'sealed'>) =>
    vault.set({ ...owner, name: signInName }, next && JSON.stringify(next), former);
  const taken = await replace({ ...grant, renewingUntil: clock.now() + 2 * stepMs }, secret);
  if (taken === null) return null;
  const oauth = structuredClone(grant.oauth);
  const failure = await renew(owner.server, oauth).then(() => null, String);
  const now = clock.now();
  const next = failure === null ? toLife(oauth, now) : { until: halfWay(now, grant.endsAt) };
  const isOver = oauth.tokens === undefined;
  // The former refresh token may be worth nothing any more.
  const kept = await outliveOutage(() => replace(isOver ? null : { ...grant, ...next }, taken), {
    what: 'keeping a token',
    log,
  });
  // The account has signed out, or in anew.
  if (kept === null) return null;
  if (failure === null) return oauth.tokens?.access_token ?? null;
  log.warn({ ...owner, isOver, reason: failure }, 'a token of an account was not renewed');
  if (fallback !== null && !isOver) return fallback;
  throw new UnsentError('there is no new token');
};
