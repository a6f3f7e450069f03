import { newId, randomBase62 } from '../kit/ids.ts';
import { askForGrant, revokeGrant, SignInError, type OAuthState } from './ask-for-grant.ts';
import { createGrants, toLife } from './create-grants.ts';
import type { MountParts } from './create-mount.ts';
import type { MountConfig } from './mount-settings.ts';
import type { SignInTarget } from './oauth-fetch.ts';
import { signInName } from './oauth-settings.ts';
import type { Owner, SecretVault } from './secret-vault.ts';

interface SignInParts extends Pick<MountParts, 'clock' | 'log' | 'outbound' | 'clientInfo'> {
  vault: SecretVault;
  publicUrl: () => string;
  /** Called when an account has signed in anew, or out. */
  onChange: (owner: Owner) => void;
}

/** Beside the tokens of an account: its sign-in that was begun last. */
const pendingName = 'pending-sign-in';
/** How long a person may take to sign in. */
export const signInMs = 600_000;

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
  const grants = createGrants({ ...parts, places, renew: ask });
  const { list, identify } = grants;

  return {
    /** Returns the address where people sign in to a server; null: they do not. */
    pageOf: (server: string): string | null => (targets.has(server) ? addressOf(server) : null),
    /** Returns the address to which a browser goes, and a cookie that it brings back. Rejects with SignInError. */
    begin: async (owner: Owner, keyHash: string): Promise<{ address: string; cookie: string }> => {
      const id = randomBase62(43);
      const oauth: OAuthState = {};
      const address = await ask(owner.server, oauth, { state: id });
      const until = clock.now() + signInMs;
      await grants.keep(owner, pendingName, { id, oauth, keyHash, until, endsAt: null, renewingUntil: 0 });
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
      const found = await grants.read(owner, pendingName);
      const isKnown = found !== null && found.id === state && clock.now() < (found.until ?? 0);
      const isOwn = isKnown && query.get('state') === state;
      if (!isOwn || (await vault.set({ ...owner, name: pendingName }, null, found.secret)) === null)
        throw new SignInError('It is finished, took more than ten minutes, or began in another browser.');
      if (!(await mayFinish(found.keyHash ?? ''))) throw new SignInError('The key has ended meanwhile.');
      const code = query.get('code');
      if (code === null || !isOfIssuer(found.oauth, query.get('iss')))
        throw new SignInError('The server did not allow it.');
      await ask(server, found.oauth, { code });
      await grants.keep(owner, signInName, { id: newId(), ...toLife(found.oauth, clock.now()) });
      onChange(owner);
      return owner;
    },
    /** Removes the tokens of an account, and tells the authorization server. Returns false if there was nothing to remove. */
    end: async (owner: Owner): Promise<boolean> => {
      const found = await grants.read(owner, signInName);
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
    list,
    identify,
    /** Gives a server the tokens of an account; without one, those of the account that lists the tools. */
    withTokens: (config: MountConfig, account?: string): MountConfig => {
      const { name: server, target } = config;
      if (target.kind !== 'http' || target.oauth?.per_account !== true) return config;
      const accountId = account ?? target.oauth.listed_by;
      const tokens = (refused: string | null) =>
        grants.giveToken({ accountId: accountId ?? '', server }, refused);
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

/** An answer may name the server that gave it, and does so if the server says that it would (RFC 9207). */
const isOfIssuer = ({ discovery }: OAuthState, iss: string | null): boolean => {
  const metadata: Record<string, unknown> = discovery?.authorizationServerMetadata ?? {};
  const isNamed = iss !== null || metadata['authorization_response_iss_parameter_supported'] === true;
  return !isNamed || iss === metadata['issuer'];
};
