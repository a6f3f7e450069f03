import type { OutboundSend } from '../http/create-outbound.ts';
import { ownClient, type OAuthState } from './ask-for-grant.ts';
import { withOAuthFetch, type SignInTarget } from './oauth-fetch.ts';

const revokeMs = 10_000;

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
