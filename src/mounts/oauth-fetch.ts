import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { OutboundSend } from '../http/create-outbound.ts';
import { createHttpClient } from '../http/http-client.ts';
import { callWithin } from '../kit/deadline.ts';
import type { HttpTarget } from './mount-settings.ts';
import type { OAuthSettings } from './oauth-settings.ts';

export type SignInTarget = HttpTarget & { oauth: OAuthSettings };

const requestMs = 10_000;

/** Calls with a `fetch` without redirects. What the operator did not name is called as the address of a stranger. */
export const withOAuthFetch = async <T>(
  target: SignInTarget,
  { outbound, timeoutMs }: { outbound: OutboundSend; timeoutMs: number },
  call: (fetchFn: FetchLike) => Promise<T>,
): Promise<T> => {
  const own = target.isPrivate ? createHttpClient({ connectMs: requestMs }) : null;
  try {
    const fetchFn = createFetch(target, own ?? outbound, outbound);
    return await callWithin({ call: () => call(fetchFn), timeoutMs });
  } finally {
    await own?.close();
  }
};

/** Tells whether an address is of an origin that the operator named. */
export const isNamed = ({ url, oauth: { issuer = url } }: SignInTarget, address: string | URL): boolean =>
  [url, issuer].some((one) => new URL(one).origin === new URL(address).origin);

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
