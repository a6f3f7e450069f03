import { z } from 'zod';
import type { OutboundSend } from '../http/create-outbound.ts';
import { isUnsent, OutboundError } from '../http/outbound.ts';
import type { ClientCredentials } from './mount-settings.ts';
import { UnsentError } from './mounted-server.ts';

const tokenMs = 10_000;
const maxBytes = 65_536;
/** A token is not used for so long before it ends. */
const marginSeconds = 30;

const tokenAnswer = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]{1,16384}$/),
  expires_in: z.coerce.number().min(0).max(86_400).catch(3_600),
});

type Send = OutboundSend['send'];

/**
 * Sends requests for `resource` with tokens that client credentials give (RFC 6749, 4.4). One that is refused (401) is sent
 * once more, with a new token. Rejects with UnsentError if there is none.
 */
export const signRequests = (send: Send, account: ClientCredentials, resource: string): Send => {
  const none = { token: '', endsAt: 0 };
  let held = none;
  let renewing: Promise<void> | null = null;
  const renew = async (): Promise<void> => {
    const { access_token: token, expires_in: seconds } = await askForToken(send, account, resource);
    held = { token, endsAt: performance.now() + Math.max(seconds / 2, seconds - marginSeconds) * 1_000 };
  };
  return async (url, request) => {
    for (let isFirst = true; ; isFirst = false) {
      if (performance.now() >= held.endsAt) await (renewing ??= renew().finally(() => (renewing = null)));
      const { token } = held;
      const headers = { ...request.headers, authorization: `Bearer ${token}` };
      const answer = await send(url, { ...request, headers }).catch((error: unknown) => {
        // The server refused the first one, and knows a proof that was in it.
        throw isFirst || !isUnsent(error) ? error : new UnsentError(error.message);
      });
      if (answer.status !== 401 || !isFirst) return answer;
      answer.body.destroy();
      if (held.token === token) held = none;
    }
  };
};

const askForToken = async (
  send: Send,
  { token_url, client_id, scope, secret }: ClientCredentials,
  resource: string,
): Promise<z.output<typeof tokenAnswer>> => {
  const basic = Buffer.from([client_id, secret].map(encodeURIComponent).join(':')).toString('base64');
  const form = { grant_type: 'client_credentials', resource, ...(scope === undefined ? {} : { scope }) };
  try {
    const answer = await send(token_url, {
      method: 'POST',
      headers: {
        authorization: `Basic ${basic}`,
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
      },
      body: new URLSearchParams(form).toString(),
      timeouts: { totalMs: tokenMs },
      limits: { totalBytes: maxBytes },
    });
    const text = await answer.body.text();
    if (answer.status !== 200)
      throw new OutboundError('bad_status', `The host answered with status ${answer.status}.`);
    return tokenAnswer.parse(JSON.parse(text));
  } catch (error) {
    // Any other error may have a part of the answer in it.
    const reason = error instanceof OutboundError ? error.message : 'Its answer has no token.';
    throw new UnsentError(`the address of tokens gave none: ${reason}`);
  }
};
