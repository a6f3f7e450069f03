import { generateKeyPairSync } from 'node:crypto';
import { Provider, errors, type Configuration, type JWK } from 'oidc-provider';
import { isConnectionAlive, scopes } from '../../accounts/authenticate.ts';
import { mainResource, resourceScopes } from '../../accounts/connection-resources.ts';
import { randomBase62, sha256 } from '../../kit/ids.ts';
import { basePathOf } from '../../kit/public-url.ts';
import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import type { Outbound } from '../../http/outbound.ts';
import type { Services } from '../../operations/call.ts';
import type { Store } from '../../store/store.ts';
import { pageHeaders } from '../page-shell.ts';
import { createClientDocuments } from './client-documents.ts';
import { endPage, pageOwner } from './write-page.ts';
import { createOAuthAdapter } from './oauth-adapter.ts';

const daySeconds = 24 * 3_600;

export interface ProviderOptions extends Pick<Services, 'config'> {
  /** Without a slash at its end. */
  publicUrl: string;
  store: Store;
  clock: Clock;
  outbound: Pick<Outbound, 'download'>;
  log: Log;
}

/** The secrets that all processes of a deployment share. The provider signs no tokens, but wants a key. */
const readSecrets = async (store: Store): Promise<{ cookies: string; jwk: JWK }> => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = JSON.stringify({ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' });
  return {
    cookies: await store.getOrCreateSecret({ name: 'oauth-cookies', value: randomBase62(43) }),
    jwk: JSON.parse(await store.getOrCreateSecret({ name: 'oauth-jwk', value: jwk })) as JWK,
  };
};

/** Makes the authorization server: public clients, PKCE, opaque tokens for one resource each. */
export const createProvider = async (options: ProviderOptions): Promise<Provider> => {
  const { publicUrl, store, clock, log } = options;
  const secrets = await readSecrets(store);
  const basePath = `${basePathOf(publicUrl)}/oauth`;
  const cookie = { path: basePath, httpOnly: true, sameSite: 'lax', signed: true } as const;
  const provider = new Provider(`${publicUrl}/oauth`, {
    ...protocol,
    adapter: (name) => createOAuthAdapter(name, { store, clock }),
    jwks: { keys: [secrets.jwk] },
    cookies: {
      keys: [secrets.cookies],
      names: { interaction: 'oauth_interaction', resume: 'oauth_resume', session: 'oauth_session' },
      long: cookie,
      short: cookie,
    },
    renderError: (context, { error, error_description: description }) => {
      const reason = description === undefined ? error : `${error}: ${description}`;
      context.set({ ...pageHeaders, 'content-type': 'text/html; charset=utf-8' });
      context.body = endPage(pageOwner(options), {
        title: 'This request cannot be answered',
        text: `Go back to your assistant, and connect again. The reason: ${reason}`,
      });
    },
    interactions: { url: (_context, { uid }) => `${basePath}/enter/${uid}` },
    findAccount: async (_context, accountId, token) => {
      const grantId = token !== undefined && 'grantId' in token ? token.grantId : undefined;
      if (grantId !== undefined) {
        const found = await store.findConnection({ grantId: sha256(grantId) });
        if (found === null || !isConnectionAlive(found, clock.now())) return undefined;
      }
      return { accountId, claims: () => ({ sub: accountId }) };
    },
    ...resourceFeatures(options),
  });
  // A client that does not name its method of authentication is public, too. The library would give it a secret.
  Object.assign(provider.Client, { needsSecret: () => false });
  provider.proxy = true;
  provider.on('server_error', (_context, error) =>
    log.error({ err: error }, 'the authorization server failed'),
  );
  return provider;
};

/** What does not depend on the deployment. */
const protocol: Configuration = {
  routes: {
    authorization: '/authorize',
    token: '/token',
    registration: '/register',
    revocation: '/revoke',
    jwks: '/jwks',
  },
  scopes: [...scopes, 'offline_access'],
  responseTypes: ['code'],
  clientAuthMethods: ['none'],
  // Stock assistants return to programs on their own computer.
  clientDefaults: {
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    id_token_signed_response_alg: 'ES256',
  },
  pkce: { required: () => true },
  clientBasedCORS: () => true,
  // Tokens outlive the visit of a browser.
  expiresWithSession: () => false,
  issueRefreshToken: async (_context, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
  ttl: {
    AccessToken: 3_600,
    AuthorizationCode: 60,
    RefreshToken: 30 * daySeconds,
    // It ends with its tokens before, as its record does.
    Grant: 36_500 * daySeconds,
    Interaction: 600,
    Session: 600,
  },
  // A person is asked every time.
  loadExistingGrant: async ({ oidc }) => {
    const grantId = oidc.result?.consent?.grantId;
    return grantId === undefined ? undefined : oidc.provider.Grant.find(grantId);
  },
};

/** The resources, and the clients that may ask for one. */
const resourceFeatures = (options: ProviderOptions): Pick<Configuration, 'features' | 'fetch'> => {
  const documents = createClientDocuments(options);
  const { publicUrl } = options;
  return {
    fetch: documents.fetch,
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      // Strangers could have anything kept.
      pushedAuthorizationRequests: { enabled: false },
      // The addresses of MCP take bearer tokens alone.
      dPoP: { enabled: false },
      // Nobody reads or changes a registration, so no token for that is kept.
      registration: { enabled: true, issueRegistrationAccessToken: false },
      revocation: { enabled: true, allowedPolicy: () => true },
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        allowFetch: (_context, url) => documents.isAllowed(url),
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => publicUrl + mainResource,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, asked) => {
          const allowed = asked.startsWith(publicUrl)
            ? resourceScopes(asked.slice(publicUrl.length), true)
            : undefined;
          if (allowed === undefined) throw new errors.InvalidTarget();
          return { scope: allowed.join(' '), audience: asked, accessTokenFormat: 'opaque' };
        },
      },
    },
  };
};
