import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { OutboundSend } from '../http/create-outbound.ts';
import { createHttpClient } from '../http/http-client.ts';
import { OutboundError } from '../http/outbound.ts';
import { callWithin } from '../kit/deadline.ts';
import { withoutTrailingSlash } from '../kit/settings.ts';
import type { HttpTarget } from './mount-settings.ts';
import type { OAuthSettings } from './oauth-settings.ts';
import { sendableToken } from './sign-requests.ts';

export type SignInTarget = HttpTarget & { oauth: OAuthSettings };

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

const requestMs = 10_000;
/** A step is some requests, one after another. */
export const stepMs = 30_000;

/**
 * Takes the next step of a sign-in (OAuth 2.1 with PKCE), and notes it in `kept`: exchanges `code`, or renews the tokens, or
 * begins. Returns the address where a person signs in; empty: there are new tokens. Rejects with SignInError.
 */
export const askForGrant = async (target: SignInTarget, kept: OAuthState, step: Step): Promise<string> => {
  const { auth, discoverAuthorizationServerMetadata, extractWWWAuthenticateParams } =
    await import('@modelcontextprotocol/sdk/client/auth.js');
  const { url: serverUrl, oauth } = target;
  const own = target.isPrivate ? createHttpClient({ connectMs: requestMs, allowsHttp2: false }) : null;
  const fetchFn = createFetch(target, own ?? step.outbound, step.outbound);
  let address = '';
  const provider = createProvider(target, kept, { ...step, onAddress: ({ href }) => (address = href) });
  const call = async (): Promise<string> => {
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
    return await callWithin({ call, timeoutMs: stepMs });
  } catch (error) {
    if (error instanceof SignInError) throw error;
    throw new SignInError(error instanceof OutboundError ? error.message : 'It answers in a wrong form.');
  } finally {
    await own?.close();
  }
};

/** Makes a `fetch` without redirects. What the operator did not name is called as the address of a stranger. */
const createFetch =
  (target: SignInTarget, own: OutboundSend, strange: OutboundSend): FetchLike =>
  async (address, { method, headers, body } = {}) => {
    const answer = await (isNamed(target, address) ? own : strange).send(String(address), {
      method: method === 'POST' ? method : 'GET',
      headers: Object.fromEntries(new Headers(headers)),
      body: typeof body === 'string' || body instanceof URLSearchParams ? body.toString() : null,
      timeouts: { totalMs: requestMs },
      limits: { totalBytes: 65_536 },
    });
    const text = await answer.body.text();
    const shown = { 'www-authenticate': String(answer.headers['www-authenticate'] ?? '') };
    return new Response(text || null, { status: answer.status, headers: shown });
  };

/** Tells whether an address is of an origin that the operator named. */
const isNamed = ({ url, oauth: { issuer = url } }: SignInTarget, address: string | URL): boolean =>
  [url, issuer].some((one) => new URL(one).origin === new URL(address).origin);

const createProvider = (
  target: SignInTarget,
  kept: OAuthState,
  { redirectUrl, clientName, state = '', onAddress }: Step & { onAddress: (address: URL) => void },
): OAuthClientProvider => {
  const { client_id, secret, issuer } = target.oauth;
  const ours = client_id === undefined ? undefined : { client_id, client_secret: secret, issuer };
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
