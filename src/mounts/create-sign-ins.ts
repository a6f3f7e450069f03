import { newId, randomBase62 } from '../kit/ids.ts';
import { outliveOutage, pause } from '../kit/repeat.ts';
import type { ToolSecret } from '../store/store.ts';
import { askForGrant, SignInError, stepMs, type OAuthState, type SignInTarget } from './ask-for-grant.ts';
import type { MountParts } from './create-mount.ts';
import type { MountConfig } from './mount-settings.ts';
import { UnsentError } from './mounted-server.ts';
import { signInName } from './oauth-settings.ts';
import type { Owner, SecretVault } from './secret-vault.ts';
import { lifeMs, type GiveToken } from './sign-requests.ts';

interface SignInParts extends Pick<MountParts, 'clock' | 'log' | 'outbound' | 'clientInfo'> {
  vault: SecretVault;
  publicUrl: () => string;
}

/** The tokens of an account, as they are encrypted. */
interface Grant {
  /** Stays until the account signs in anew. */
  id: string;
  oauth: OAuthState;
  /** When the token is renewed. Null: when the server refuses it. */
  renewAt: number | null;
  /** Up to then one gateway renews the token, and the others wait. */
  renewingUntil: number;
}

/** A sign-in that was begun, likewise. */
interface Pending {
  oauth: OAuthState;
  state: string;
  expiresAt: number;
}

interface Context extends SignInParts {
  step: (
    server: string,
    oauth: OAuthState,
    more: { state?: string; code?: string },
  ) => Promise<string | null>;
}

/** Beside the tokens of an account: its sign-in that was begun last. */
const pendingName = 'pending-sign-in';
/** How long a person may take to sign in. */
export const signInMs = 600_000;
const pollMs = 250;

export type SignIns = ReturnType<typeof createSignIns>;

/** Lets each account sign in to the mounted servers that ask for it, and keeps its tokens in the vault. */
export const createSignIns = (configs: readonly MountConfig[], parts: SignInParts) => {
  const { vault, clock, clientInfo, publicUrl } = parts;
  const targets = new Map(configs.flatMap(toSignInTarget));
  const addressOf = (server: string): string => `${publicUrl()}/oauth/tools/${server}`;
  const step: Context['step'] = async (server, oauth, more) => {
    const target = targets.get(server);
    if (target === undefined) throw new SignInError('accounts do not sign in to it');
    const redirectUrl = `${addressOf(server)}/callback`;
    return askForGrant(target, oauth, { ...parts, ...more, redirectUrl, clientName: clientInfo.name });
  };
  const context = { ...parts, step };
  const tokensOf =
    (owner: Owner): GiveToken =>
    (refused) =>
      giveToken(context, owner, refused);
  return {
    /** Returns the address where people sign in to a server; null: they do not. */
    pageOf: (server: string): string | null => (targets.has(server) ? addressOf(server) : null),
    /** Returns the address to which a browser goes, and a cookie that it brings back. Rejects with SignInError. */
    begin: async (owner: Owner): Promise<{ address: string; cookie: string }> => {
      const state = randomBase62(43);
      const oauth: OAuthState = {};
      const address = await step(owner.server, oauth, { state });
      const pending: Pending = { oauth, state, expiresAt: clock.now() + signInMs };
      await vault.set({ ...owner, name: pendingName }, JSON.stringify(pending));
      return { address: address ?? '', cookie: `${owner.accountId}.${state}` };
    },
    /** Keeps the tokens for what a browser brings back. Returns whose they are. Rejects with SignInError. */
    finish: async (server: string, query: URLSearchParams, cookie: string): Promise<Owner> => {
      const [accountId = '', state = null] = cookie.split('.');
      const owner = { accountId, server };
      const oauth = query.get('state') === state ? await takePending(context, owner, state) : null;
      if (oauth === null)
        throw new SignInError(
          'it was finished, took longer than ten minutes, or was begun in another browser',
        );
      const code = query.get('code');
      if (code === null || !isOfIssuer(oauth, query.get('iss')))
        throw new SignInError('the server did not allow it');
      await step(server, oauth, { code });
      const grant = JSON.stringify(toGrant(newId(), oauth, clock.now()));
      await vault.set({ ...owner, name: signInName }, grant);
      return owner;
    },
    /** Names the sign-in of a stored secret. Renewed tokens have the same one. */
    idOf: (owner: Owner, secret: ToolSecret): string => (JSON.parse(vault.open(owner, secret)) as Grant).id,
    tokensOf,
    /** Gives the tokens with which the tools of a server are listed; undefined: the operator names no account for that. */
    tokensToList: ({ name: server, target }: MountConfig): GiveToken | undefined => {
      const accountId = target.kind === 'http' ? target.oauth?.listed_by : undefined;
      return accountId === undefined ? undefined : tokensOf({ accountId, server });
    },
  };
};

const toSignInTarget = ({ name, target }: MountConfig): [string, SignInTarget][] =>
  target.kind === 'http' && target.oauth?.per_account === true
    ? [[name, { ...target, oauth: target.oauth }]]
    : [];

const read = async <T>(
  { vault }: Context,
  owner: Owner,
  name: string,
): Promise<{ value: T; secret: ToolSecret } | null> => {
  const [secret] = await vault.list(owner, [name]);
  return secret === undefined ? null : { value: JSON.parse(vault.open(owner, secret)) as T, secret };
};

/** Takes a sign-in that was begun, once. Null: there is none of this state, or it has expired. */
const takePending = async (
  context: Context,
  owner: Owner,
  state: string | null,
): Promise<OAuthState | null> => {
  const found = await read<Pending>(context, owner, pendingName);
  if (found === null || found.value.state !== state || context.clock.now() >= found.value.expiresAt)
    return null;
  const taken = await context.vault.replace({ ...owner, name: pendingName }, null, found.secret);
  return taken && found.value.oauth;
};

/** An answer names the server that gave it (RFC 9207). */
const isOfIssuer = ({ discovery }: OAuthState, iss: string | null): boolean => {
  const metadata: Record<string, unknown> = discovery?.authorizationServerMetadata ?? {};
  return iss === null
    ? metadata['authorization_response_iss_parameter_supported'] !== true
    : iss === metadata['issuer'];
};

const toGrant = (id: string, oauth: OAuthState, now: number): Grant => {
  const seconds = oauth.tokens?.expires_in;
  const renewAt = seconds !== undefined && seconds >= 0 ? now + lifeMs(seconds) : null;
  return { id, oauth, renewAt, renewingUntil: 0 };
};

/** Returns the token of an account, renewed if its end is near or the server refused it. Rejects with UnsentError. */
const giveToken = async (context: Context, owner: Owner, refused: string | null): Promise<string> => {
  const { clock } = context;
  for (const giveUpAt = performance.now() + 2 * stepMs; performance.now() < giveUpAt;) {
    const found = await read<Grant>(context, owner, signInName);
    const { oauth, renewAt, renewingUntil } = found?.value ?? {};
    const token = oauth?.tokens?.access_token;
    if (found === null || token === undefined) throw new UnsentError('the account has not signed in');
    if (token !== refused && clock.now() < (renewAt ?? Infinity)) return token;
    if (clock.now() < (renewingUntil ?? 0)) await pause(pollMs);
    else await renew(context, owner, found);
  }
  throw new UnsentError('the token is not renewed in time');
};

/** One gateway renews, because an authorization server ends a grant whose refresh token comes twice. */
const renew = async (
  { vault, clock, log, step }: Context,
  owner: Owner,
  { value: grant, secret }: { value: Grant; secret: ToolSecret },
): Promise<void> => {
  const replace = (next: Grant | null, former: { sealed: string | null }) =>
    vault.replace({ ...owner, name: signInName }, next && JSON.stringify(next), former);
  const taken = await replace({ ...grant, renewingUntil: clock.now() + 2 * stepMs }, secret);
  if (taken === null) return;
  const oauth = structuredClone(grant.oauth);
  const failure = await step(owner.server, oauth, {}).then(
    () => null,
    (error: unknown) => (error instanceof SignInError ? error : new SignInError('it fails')),
  );
  const next = failure === null ? toGrant(grant.id, oauth, clock.now()) : grant;
  if (failure !== null)
    log.warn({ ...owner, reason: failure.message, isOver: failure.isOver }, 'a token was not renewed');
  // With the new refresh token, the sign-in would be lost.
  await outliveOutage(() => replace(failure?.isOver ? null : next, taken), { what: 'keeping a token', log });
  if (failure !== null) throw new UnsentError(`there is no new token: ${failure.message}`);
};
