import { newId, randomBase62 } from '../kit/ids.ts';
import { outliveOutage, pause } from '../kit/repeat.ts';
import type { ToolSecret } from '../store/store.ts';
import { askForGrant, SignInError, stepMs, type OAuthState } from './ask-for-grant.ts';
import type { MountParts } from './create-mount.ts';
import type { MountConfig } from './mount-settings.ts';
import { UnsentError } from './mounted-server.ts';
import type { SignInTarget } from './oauth-fetch.ts';
import { signInName } from './oauth-settings.ts';
import { revokeGrant } from './revoke-grant.ts';
import type { Owner, SecretVault } from './secret-vault.ts';

interface SignInParts extends Pick<MountParts, 'clock' | 'log' | 'outbound' | 'clientInfo'> {
  vault: SecretVault;
  publicUrl: () => string;
  /** Called when an account has signed in anew, or out. */
  onChange: (owner: Owner) => void;
}

/** A sign-in of an account, as it is encrypted. */
interface Grant {
  /** While a person signs in, the state that comes back. Then it stays until the account signs in anew. */
  id: string;
  /** By `placeOf`. At another place, it is as if the account had not signed in. */
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

/** Beside the tokens of an account: its sign-in that was begun last. */
const pendingName = 'pending-sign-in';
/** How long a person may take to sign in. */
export const signInMs = 600_000;
const pollMs = 250;

type Ask = (server: string, oauth: OAuthState, more?: { state?: string; code?: string }) => Promise<string>;
export type SignIns = ReturnType<typeof createSignIns>;

/** Lets each account sign in to the mounted servers that ask for it, and keeps its tokens in the vault. */
export const createSignIns = (configs: readonly MountConfig[], parts: SignInParts) => {
  const { vault, clock, log, outbound, publicUrl, onChange } = parts;
  const targets = new Map(configs.flatMap(toSignInTarget));
  const places = new Map([...targets].map(([server, target]) => [server, placeOf(target)]));
  const addressOf = (server: string): string => `${publicUrl()}/oauth/tools/${server}`;
  const ask: Ask = async (server, oauth, more) => {
    const target = targets.get(server);
    if (target === undefined) throw new SignInError('Accounts do not sign in to it.');
    const redirectUrl = `${addressOf(server)}/callback`;
    return askForGrant(target, oauth, { ...parts, ...more, redirectUrl, clientName: parts.clientInfo.name });
  };
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
        const renewed = await renewOnce(owner, found, { ...parts, ask, fallback: isGood ? token : null });
        if (renewed !== null) return renewed;
      }
    }
    throw new UnsentError('the token is not renewed in time');
  };

  return {
    /** Returns the address where people sign in to a server; null: they do not. */
    pageOf: (server: string): string | null => (targets.has(server) ? addressOf(server) : null),
    /** Returns the address to which a browser goes, and a cookie that it brings back. Rejects with SignInError. */
    begin: async (owner: Owner, keyHash: string): Promise<{ address: string; cookie: string }> => {
      const id = randomBase62(43);
      const oauth: OAuthState = {};
      const address = await ask(owner.server, oauth, { state: id });
      const until = clock.now() + signInMs;
      await keep(owner, pendingName, { id, oauth, keyHash, until, endsAt: null, renewingUntil: 0 });
      return { address, cookie: `${owner.accountId}.${id}` };
    },
    /**
     * Keeps the tokens for what a browser brings back, once. `mayFinish`: tells whether the key with which the person began
     * still counts. Returns whose they are. Rejects with SignInError.
     */
    finish: async (
      server: string,
      query: URLSearchParams,
      { cookie, mayFinish }: { cookie: string; mayFinish: (keyHash: string) => Promise<boolean> },
    ): Promise<Owner> => {
      const [accountId = '', state] = cookie.split('.');
      const owner = { accountId, server };
      const found = await readGrant(owner, pendingName);
      const isKnown = found !== null && found.id === state && clock.now() < (found.until ?? 0);
      const isOwn = isKnown && query.get('state') === state;
      if (!isOwn || (await vault.set({ ...owner, name: pendingName }, null, found.secret)) === null)
        throw new SignInError('It is finished, took more than ten minutes, or began in another browser.');
      if (!(await mayFinish(found.keyHash ?? ''))) throw new SignInError('The key has ended meanwhile.');
      const code = query.get('code');
      if (code === null || !isOfIssuer(found.oauth, query.get('iss')))
        throw new SignInError('The server did not allow it.');
      await ask(server, found.oauth, { code });
      await keep(owner, signInName, { id: newId(), ...toLife(found.oauth, clock.now()) });
      onChange(owner);
      return owner;
    },
    /** Removes the tokens of an account, and tells the authorization server. Returns false if there was nothing to remove. */
    end: async (owner: Owner): Promise<boolean> => {
      const found = await readGrant(owner, signInName);
      const kept = await vault.list(owner, [signInName, pendingName]);
      for (const { name } of kept) await vault.set({ ...owner, name }, null);
      onChange(owner);
      const target = targets.get(owner.server);
      if (found !== null && target !== undefined)
        await revokeGrant(target, found.oauth, outbound).catch((error: unknown) =>
          log.warn({ ...owner, reason: String(error) }, 'an authorization server was not told of a sign-out'),
        );
      return kept.length > 0;
    },
    /** Leaves a sign-in out that the account made at another address, issuer or client of the server. */
    current: (owner: Owner, secrets: readonly ToolSecret[]): ToolSecret[] =>
      secrets.filter((one) => one.name !== signInName || isOfPlace(owner, one)),
    /** Returns a text that changes with the secrets of an account, but not when a token is renewed. */
    identify: (owner: Owner, secrets: readonly ToolSecret[]): string =>
      JSON.stringify(secrets.map((one) => (one.name === signInName ? openGrant(vault, owner, one).id : one))),
    /** Gives a server the tokens of an account; without one, those of the account that lists the tools. */
    withTokens: (config: MountConfig, account?: string): MountConfig => {
      const { name: server, target } = config;
      if (target.kind !== 'http' || target.oauth?.per_account !== true) return config;
      const accountId = account ?? target.oauth.listed_by;
      const tokens = (refused: string | null) => giveToken({ accountId: accountId ?? '', server }, refused);
      return accountId === undefined ? config : { ...config, target: { ...target, tokens } };
    },
  };
};

const toSignInTarget = ({ name, target }: MountConfig): [string, SignInTarget][] =>
  target.kind === 'http' && target.oauth?.per_account === true
    ? [[name, { ...target, oauth: target.oauth }]]
    : [];

/** Where a sign-in counts: the operator can set another server, or another way to sign in, under the same name. */
const placeOf = ({ url, oauth: { issuer, client_id } }: SignInTarget): string =>
  JSON.stringify([url, issuer, client_id]);

const openGrant = (vault: SecretVault, owner: Owner, secret: ToolSecret): Grant =>
  JSON.parse(vault.open(owner, secret)) as Grant;

/** An answer may name the server that gave it, and does so if the server says that it would (RFC 9207). */
const isOfIssuer = ({ discovery }: OAuthState, iss: string | null): boolean => {
  const metadata: Record<string, unknown> = discovery?.authorizationServerMetadata ?? {};
  const isNamed = iss !== null || metadata['authorization_response_iss_parameter_supported'] === true;
  return !isNamed || iss === metadata['issuer'];
};

/** A token that can be renewed is renewed in the middle of its life. */
const toLife = (
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
  { vault, clock, log, ask, fallback }: SignInParts & { ask: Ask; fallback: string | null },
): Promise<string | null> => {
  const replace = (next: Grant | null, former: Pick<ToolSecret, 'sealed'>) =>
    vault.set({ ...owner, name: signInName }, next && JSON.stringify(next), former);
  const taken = await replace({ ...grant, renewingUntil: clock.now() + 2 * stepMs }, secret);
  if (taken === null) return null;
  const oauth = structuredClone(grant.oauth);
  const failure = await ask(owner.server, oauth).then(() => null, String);
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
