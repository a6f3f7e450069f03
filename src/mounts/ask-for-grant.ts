import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { OutboundSend } from '../http/create-outbound.ts';
import { OutboundError } from '../http/outbound.ts';
import { withoutTrailingSlash } from '../kit/settings.ts';
import { isNamed, withOAuthFetch, type SignInTarget } from './oauth-fetch.ts';
import type { OAuthSettings } from './oauth-settings.ts';
import { sendableToken } from './sign-requests.ts';

/** What the SDK's client of OAuth keeps between two steps. Without tokens after a step that failed, the grant has ended. */
export interface OAuthState {
  client?: OAuthClientInformationMixed;
  discovery?: OAuthDiscoveryState;
  codeVerifier?: string;
  tokens?: OAuthTokens | undefined;
}

/** `state`: comes back with the code. */
type Step = Record<'redirectUrl' | 'clientName', string> & {
  outbound: OutboundSend;
  state?: string;
  code?: string;
};

/** Its message has nothing that a server wrote, which may repeat codes and tokens. */
export class SignInError extends Error {
  override readonly name = 'SignInError';
}

/** A step is some requests, one after another. */
export const stepMs = 30_000;
const revokeMs = 10_000;

/**
 * Takes the next step of a sign-in (OAuth 2.1 with PKCE), and notes it in `kept`: exchanges `code`, or renews the tokens, or
 * begins. Returns the address where a person signs in; empty: there are new tokens. Rejects with SignInError.
 */
export const askForGrant = async (target: SignInTarget, kept: OAuthState, step: Step): Promise<string> => {
  const { auth, discoverAuthorizationServerMetadata, extractWWWAuthenticateParams } =
    await import('@modelcontextprotocol/sdk/client/auth.js');
  const { url: serverUrl, oauth } = target;
  let address = '';
  const provider = createProvider(target, kept, { ...step, onAddress: ({ href }) => (address = href) });
  const call = async (fetchFn: FetchLike): Promise<string> => {
    // The answer to a request without a token says where the metadata is, if that is no usual address.
    const refusal = kept.discovery ? null : await fetchFn(serverUrl, { method: 'POST' }).catch(() => null);
    if (!kept.discovery && oauth.issuer !== undefined)
      await provider.saveDiscoveryState?.({
        authorizationServerUrl: oauth.issuer,
        authorizationServerMetadata: await discoverAuthorizationServerMetadata(oauth.issuer, { fetchFn }),
      });
    await auth(provider, {
      serverUrl,
      fetchFn,
      ...(refusal && extractWWWAuthenticateParams(refusal)),
      ...(oauth.scope === undefined ? {} : { scope: oauth.scope }),
      ...(step.code === undefined ? {} : { authorizationCode: step.code }),
    });
    return address;
  };
  try {
    return await withOAuthFetch(target, { outbound: step.outbound, timeoutMs: stepMs }, call);
  } catch (error) {
    if (error instanceof SignInError) throw error;
    throw new SignInError(error instanceof OutboundError ? error.message : 'It answers in a wrong form.');
  }
};

/**
 * Tells an authorization server that the tokens of a grant are not used any more (RFC 7009). Does nothing where the server
 * names no address for that. Rejects if the server cannot be told.
 */
export const revokeGrant = async (
  target: SignInTarget,
  { discovery, tokens, client: registered }: OAuthState,
  outbound: OutboundSend,
): Promise<void> => {
  const metadata: Record<string, unknown> = discovery?.authorizationServerMetadata ?? {};
  const client = ownClient(target.oauth) ?? registered;
  const { revocation_endpoint: address } = metadata;
  if (typeof address !== 'string' || tokens === undefined || client === undefined) return;
  const { selectClientAuthMethod } = await import('@modelcontextprotocol/sdk/client/auth.js');
  const methods = metadata['revocation_endpoint_auth_methods_supported'];
  const method = selectClientAuthMethod(client, Array.isArray(methods) ? methods : []);
  const { client_id, client_secret = '' } = client;
  const isBasic = method === 'client_secret_basic';
  const authorization = isBasic ? { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` } : {};
  await withOAuthFetch(target, { outbound, timeoutMs: revokeMs }, async (fetchFn) => {
    // The end of a refresh token should end the tokens that came from it, and does not everywhere.
    for (const name of ['refresh_token', 'access_token'] as const) {
      const token = tokens[name];
      if (token === undefined) continue;
      const form = new URLSearchParams({ token, token_type_hint: name });
      if (!isBasic) form.set('client_id', client_id);
      if (method === 'client_secret_post') form.set('client_secret', client_secret);
      const headers = { ...authorization, 'content-type': 'application/x-www-form-urlencoded' };
      const { ok, status } = await fetchFn(address, { method: 'POST', headers, body: form });
      if (!ok) throw new Error(`the host answered with status ${status}`);
    }
  });
};

/** Returns how the operator has registered the gateway at the authorization server; undefined: it has not. */
const ownClient = ({
  client_id,
  secret,
  issuer,
}: OAuthSettings): (OAuthClientInformationMixed & { issuer?: string | undefined }) | undefined =>
  client_id === undefined ? undefined : { client_id, client_secret: secret, issuer };

const createProvider = (
  target: SignInTarget,
  kept: OAuthState,
  { redirectUrl, clientName, state = '', onAddress }: Step & { onAddress: (address: URL) => void },
): OAuthClientProvider => {
  const { issuer } = target.oauth;
  const ours = ownClient(target.oauth);
  return {
    redirectUrl,
    clientMetadata: {
      client_name: clientName,
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    },
    state: () => state,
    clientInformation: () => ours ?? kept.client,
    ...(ours === undefined && { saveClientInformation: (client) => void (kept.client = client) }),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => {
      if (!sendableToken.test(tokens.access_token))
        throw new SignInError('It gives no token that can be sent.');
      kept.tokens = tokens;
    },
    redirectToAuthorization: (address) => {
      if (kept.tokens === undefined) {
        // A link with another scheme would start a program of the person's.
        if (address.protocol !== 'https:' && !(address.protocol === 'http:' && isNamed(target, address)))
          throw new SignInError('It names no https address to sign in at.');
        return onAddress(address);
      }
      if (kept.tokens.refresh_token === undefined) kept.tokens = undefined;
      throw new SignInError('It gives no new token.');
    },
    saveCodeVerifier: (verifier) => void (kept.codeVerifier = verifier),
    codeVerifier: () => kept.codeVerifier ?? '',
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (found) => {
      const { authorizationServerUrl: url, authorizationServerMetadata: metadata } = found;
      const { issuer: named = '', code_challenge_methods_supported: methods = [] } = metadata ?? {};
      // Otherwise a code of an honest server could be sent to another one (RFC 8414, 3.3).
      if (withoutTrailingSlash(named) !== withoutTrailingSlash(url))
        throw new SignInError('It names no authorization server, or one with the name of another.');
      // MCP refuses servers that do not tell. Some that take it do not: the operator can name such an issuer.
      if (issuer === undefined && !methods.includes('S256')) throw new SignInError('It takes no PKCE.');
      kept.discovery = found;
    },
    // The SDK would begin anew. A server may forget a gateway that registered itself; settings can only be wrong.
    invalidateCredentials: (scope) => {
      if (scope === 'tokens' || ours === undefined) kept.tokens = undefined;
      throw new SignInError('It refuses the gateway.');
    },
  };
};
