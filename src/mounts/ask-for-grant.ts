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

export type SignInTarget = HttpTarget & { oauth: OAuthSettings };

/** What the SDK's client of OAuth keeps between two steps. */
export interface OAuthState {
  client?: OAuthClientInformationMixed;
  discovery?: OAuthDiscoveryState;
  codeVerifier?: string;
  tokens?: OAuthTokens;
}

interface StepParts {
  outbound: OutboundSend;
  redirectUrl: string;
  clientName: string;
  /** Comes back with the code. */
  state?: string;
  code?: string;
}

/** Its message has nothing that a server wrote, which may repeat codes and tokens. */
export class SignInError extends Error {
  override readonly name = 'SignInError';
  /** The grant has ended. */
  readonly isOver: boolean;

  constructor(message: string, isOver = false) {
    super(message);
    this.isOver = isOver;
  }
}

const requestMs = 10_000;
/** A step is some requests, one after another. */
export const stepMs = 30_000;
const maxBytes = 65_536;

/**
 * Takes the next step of a sign-in by OAuth 2.1 with PKCE, and notes in `kept` what comes of it: exchanges `code`, or else
 * renews the tokens, or else finds the authorization server and registers there. Returns the address where a person
 * signs in; null: there are new tokens. Rejects with SignInError.
 */
export const askForGrant = async (
  target: SignInTarget,
  kept: OAuthState,
  parts: StepParts,
): Promise<string | null> => {
  const { auth, extractWWWAuthenticateParams } = await import('@modelcontextprotocol/sdk/client/auth.js');
  const { url: serverUrl, oauth } = target;
  const client = target.isPrivate ? createHttpClient({ connectMs: requestMs, allowsHttp2: false }) : null;
  const fetchFn = createFetch(target, client ?? parts.outbound, parts.outbound);
  const provider = createProvider(oauth, kept, parts);
  const work = async (): Promise<string | null> => {
    // The answer to a request without a token says where the metadata is, if that is no usual address.
    const refusal = kept.discovery ? null : await fetchFn(serverUrl, { method: 'POST' }).catch(() => null);
    const asked: ReturnType<typeof extractWWWAuthenticateParams> =
      refusal === null ? {} : extractWWWAuthenticateParams(refusal);
    await auth(provider, {
      ...{ serverUrl, fetchFn, ...asked },
      ...(oauth.scope === undefined ? {} : { scope: oauth.scope }),
      ...(parts.code === undefined ? {} : { authorizationCode: parts.code }),
    });
    return provider.address();
  };
  try {
    return await callWithin({ call: work, timeoutMs: stepMs });
  } catch (error) {
    if (error instanceof SignInError) throw error;
    const isOurs = error instanceof OutboundError;
    throw new SignInError(
      isOurs ? error.message.replace(/\.$/, '') : 'it answers in a wrong form, or too late',
    );
  } finally {
    await client?.close();
  }
};

/** Makes a `fetch` without redirects. What the operator did not name is called as the address of a stranger. */
const createFetch =
  ({ url, oauth: { issuer = url } }: SignInTarget, own: OutboundSend, outbound: OutboundSend): FetchLike =>
  async (address, { method, headers, body } = {}) => {
    const isNamed = [url, issuer].some((one) => new URL(one).origin === new URL(address).origin);
    const answer = await (isNamed ? own : outbound).send(String(address), {
      method: method === 'POST' ? method : 'GET',
      headers: Object.fromEntries(new Headers(headers)),
      body: typeof body === 'string' || body instanceof URLSearchParams ? body.toString() : null,
      timeouts: { totalMs: requestMs },
      limits: { totalBytes: maxBytes },
    });
    const text = await answer.body.text();
    const shown = ['location', 'www-authenticate'].map((name) => [name, String(answer.headers[name] ?? '')]);
    return new Response(text || null, { status: answer.status, headers: Object.fromEntries(shown) });
  };

/** `address`: returns where a person signs in, if the SDK asked for that. */
const createProvider = (
  { client_id, secret, issuer }: OAuthSettings,
  kept: OAuthState,
  { redirectUrl, clientName, state = '' }: StepParts,
): OAuthClientProvider & { address: () => string | null } => {
  let address: string | null = null;
  const ours = client_id === undefined ? undefined : { client_id, client_secret: secret, issuer };
  return {
    address: () => address,
    redirectUrl,
    clientMetadata: {
      client_name: clientName,
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => state,
    clientInformation: () => ours ?? kept.client,
    ...(ours === undefined && { saveClientInformation: (client) => void (kept.client = client) }),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => {
      if (!/^[\x21-\x7e]{1,16384}$/.test(tokens.access_token))
        throw new SignInError('its token cannot be sent');
      kept.tokens = tokens;
    },
    redirectToAuthorization: ({ href }) => {
      const { tokens } = kept;
      if (tokens !== undefined)
        throw new SignInError('it gives no new token', tokens.refresh_token === undefined);
      address = href;
    },
    saveCodeVerifier: (verifier) => void (kept.codeVerifier = verifier),
    codeVerifier: () => kept.codeVerifier ?? '',
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (found) => {
      const { authorizationServerUrl, authorizationServerMetadata: metadata } = found;
      // Otherwise a code of an honest server could be sent to another one (RFC 8414, 3.3).
      if (withoutTrailingSlash(metadata?.issuer ?? '') !== withoutTrailingSlash(authorizationServerUrl))
        throw new SignInError('it names no authorization server, or one with the name of another');
      kept.discovery = found;
    },
    // The SDK would begin anew. A server may forget a gateway that registered itself; settings can only be wrong.
    invalidateCredentials: (scope) => {
      throw new SignInError('it refuses the gateway', scope === 'tokens' || ours === undefined);
    },
  };
};
