import { z } from 'zod';
import type { OutboundSend } from '../http/create-outbound.ts';
import { isUnsent, OutboundError } from '../http/outbound.ts';
import type { OAuthSettings } from './oauth-settings.ts';
import { UnsentError } from './mounted-server.ts';

const tokenMs = 10_000;
const maxBytes = 65_536;
/** A token is not used for so long before it ends. */
const marginSeconds = 30;

/** What a header can have. */
export const sendableToken = /^[\x21-\x7e]{1,16384}$/;

const tokenAnswer = z.object({
  access_token: z.string().regex(sendableToken),
  expires_in: z.coerce.number().min(0).max(86_400).catch(3_600),
});

type Send = OutboundSend['send'];

/** Returns a token that is not `refused` by the server (null: none was). Rejects with UnsentError if there is none. */
export type GiveToken = (refused: string | null) => Promise<string>;

/** Sends requests with tokens. One that is refused (401) is sent once more, with a new token. */
export const signRequests =
  (send: Send, giveToken: GiveToken): Send =>
  async (url, request) => {
    for (let refused: string | null = null; ;) {
      const token: string = await giveToken(refused).catch((error: unknown) => {
        throw error instanceof UnsentError ? error : new UnsentError('the token could not be read');
      });
      const headers = { ...request.headers, authorization: `Bearer ${token}` };
      const answer = await send(url, { ...request, headers }).catch((error: unknown) => {
        // The server refused the first one, and knows a proof that was in it.
        throw refused === null || !isUnsent(error) ? error : new UnsentError(error.message);
      });
      if (answer.status !== 401 || refused !== null) return answer;
      answer.body.destroy();
      refused = token;
    }
  };

/** Gets tokens for `resource` by client credentials (RFC 6749, 4.4). */
export const giveByCredentials = (send: Send, account: OAuthSettings, resource: string): GiveToken => {
  const none = { token: '', endsAt: 0 };
  let held = none;
  let renewing: Promise<void> | null = null;
  const renew = async (): Promise<void> => {
    const { access_token: token, expires_in: seconds } = await askForToken(send, account, resource);
    held = { token, endsAt: performance.now() + Math.max(seconds / 2, seconds - marginSeconds) * 1_000 };
  };
  return async (refused) => {
    if (held.token === refused) held = none;
    if (performance.now() >= held.endsAt) await (renewing ??= renew().finally(() => (renewing = null)));
    return held.token;
  };
};

const askForToken = async (
  send: Send,
  { token_url = '', client_id = '', scope, secret = '' }: OAuthSettings,
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
