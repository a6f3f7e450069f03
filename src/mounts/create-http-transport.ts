import { AsyncLocalStorage } from 'node:async_hooks';
import { ReadableStream } from 'node:stream/web';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { createHttpClient } from '../http/http-client.ts';
import type { OutboundSend } from '../http/create-outbound.ts';
import { leaveBody, type HttpAnswer } from '../http/send-request.ts';
import { isJsonObject, parseJson } from '../kit/json.ts';
import { noteToken } from './hide-secrets.ts';
import { giveByCredentials, signRequests, type GiveToken } from './sign-requests.ts';
import type { HttpTarget, MountConfig } from './mount-settings.ts';
import { BusyError, PaymentRequiredError, UnsentError } from './mounted-server.ts';

const connectMs = 5_000;
/** The longest message, and the most bytes of one answer, which may have progress before its message. */
const limits = { lineBytes: 2 * 1024 ** 2, totalBytes: 8 * 1024 ** 2 };

/** Of an error that ends a session, in characters. */
const maxErrorText = 2_000;

/** The most answers that are being sent to a server, each over a connection of its own. One that asks for more is ended. */
const maxAnswers = 64;

/** What the request of a call has and gets beside its message, in base64. */
export interface HttpPayment {
  proof: string | null;
  receipt: string | null;
}

/** Goes with a question or a notification to its request, which `signal` ends. The SDK stands between. */
export const httpExtra = new AsyncLocalStorage<{ signal: AbortSignal; payment?: HttpPayment }>();

interface FetchParts {
  outbound: OutboundSend;
  /** An answer ends after this time, also if nobody waits for it. */
  totalMs: number;
  /** Called when the standing stream of `isSse` ends. */
  onStreamEnd: () => void;
}

/** No stream is resumed, so that a server plants no timers. */
const never = {
  maxRetries: 0,
  initialReconnectionDelay: 1,
  maxReconnectionDelay: 1,
  reconnectionDelayGrowFactor: 1,
};

/**
 * Reaches an MCP server by HTTP, at the operator's own address alone: nothing that the server names leads elsewhere. An
 * address that may not be private is checked with each connection.
 */
export const createHttpTransport = (
  target: HttpTarget,
  { outbound, timeouts: { answerMs, totalMs } }: Pick<FetchParts, 'outbound'> & Pick<MountConfig, 'timeouts'>,
): Transport => {
  const { url, isSse } = target;
  const onStreamEnd = (): void => void transport.close();
  const http = createMountFetch(target, { outbound, totalMs: totalMs + answerMs, onStreamEnd });
  const transport: Transport = isSse
    ? new SSEClientTransport(new URL(url), http)
    : new StreamableHTTPClientTransport(new URL(url), { ...http, reconnectionOptions: never });
  const close = transport.close.bind(transport);
  transport.close = async () => {
    await close();
    await http.close();
  };
  const send = transport.send.bind(transport);
  let answers = 0;
  transport.send = async (message, options) => {
    const sendSoon = (): Promise<void> =>
      httpExtra.run({ signal: AbortSignal.timeout(answerMs) }, () => send(message, options));
    if ('method' in message) return 'id' in message ? send(message, options) : sendSoon();
    if (answers >= maxAnswers) {
      void transport.close();
      throw new Error(`the server asked more than ${maxAnswers} questions at once`);
    }
    answers += 1;
    try {
      return await sendSoon();
    } finally {
      answers -= 1;
    }
  };
  return transport;
};

/** Makes `fetch` for a transport of the SDK. */
export const createMountFetch = (
  target: HttpTarget,
  { outbound, totalMs, onStreamEnd }: FetchParts,
): { fetch: FetchLike; close: () => Promise<void> } => {
  const { url, isPrivate, isSse, headers: own, oauth, tokens } = target;
  const { origin } = new URL(url);
  const client = isPrivate ? createHttpClient({ connectMs }) : null;
  const { send } = client ?? outbound;
  const isOurs = oauth?.per_account === false;
  const giveToken = isOurs ? giveByCredentials(send, oauth, url.replace(/[?#].*/s, '')) : tokens;
  const giveNoted: GiveToken | undefined =
    giveToken &&
    (async (refused) => {
      const token = await giveToken(refused);
      noteToken(target, token);
      return token;
    });
  const sendSigned = giveNoted === undefined ? send : signRequests(send, giveNoted);
  return {
    fetch: async (address, { method = 'GET', headers, body, signal = null } = {}) => {
      if (new URL(address).origin !== origin)
        throw new UnsentError('the server names an address of another origin');
      const isStream = method === 'GET';
      // A standing stream would carry only that the tools have changed, and break in silence: they are listed by a timer.
      // A stream that broke off is not resumed, as a server could have that repeated without end.
      if (isStream && !isSse) return new Response(null, { status: 405 });
      const { payment, signal: end = signal } = isStream ? {} : (httpExtra.getStore() ?? {});
      const sent = { ...own, ...Object.fromEntries(new Headers(headers)) };
      if (typeof payment?.proof === 'string') sent['payment-signature'] = payment.proof;
      const answer = await sendSigned(String(address), {
        method: isStream ? 'GET' : 'POST',
        headers: sent,
        body: typeof body === 'string' ? body : null,
        timeouts: isStream ? {} : { totalMs },
        limits: isStream ? { ...limits, totalBytes: Infinity } : limits,
        signal: end,
      });
      const { status } = answer;
      const receipt = answer.headers['payment-response'];
      if (payment !== undefined && typeof receipt === 'string') payment.receipt = receipt;
      if (status >= 400) {
        const isSessionLost = (isSse || 'mcp-session-id' in sent) && (await losesSession(answer, body));
        throw toRefusal(answer, isSessionLost);
      }
      const shown = ['content-type', 'mcp-session-id', 'location'].flatMap((name) => {
        const value = answer.headers[name];
        return typeof value === 'string' ? [[name, value] as [string, string]] : [];
      });
      const isStreaming =
        status === 200 && /^text\/event-stream\b/i.test(String(answer.headers['content-type']));
      const isEmpty = status === 204 || status === 205 || status === 304 || (isStream && !isStreaming);
      if (isEmpty) answer.body.destroy();
      const read = isStream ? readEvents(answer.body, onStreamEnd) : answer.body;
      return new Response(isEmpty ? null : ReadableStream.from(read), { status, headers: shown });
    },
    close: async () => client?.close(),
  };
};

/** What HTTP servers answer before they run anything. */
const refusals: ReadonlySet<number> = new Set([401, 403, 404]);

/**
 * Tells whether a server does not know the session any more. The specification says 404. Servers of the SDK answer 400, with
 * an error that is not one of the request: that may have a caller's own words.
 */
const losesSession = async ({ status, body }: HttpAnswer, request: unknown): Promise<boolean> => {
  if (status !== 400) return status === 404;
  const answer = parseJson((await body.text()).slice(0, maxErrorText));
  if (!isJsonObject(answer) || !isJsonObject(answer['error'])) return false;
  const { id = null, error } = answer;
  const asked = parseJson(typeof request === 'string' ? request : '');
  const isOfRequest = isJsonObject(asked) && id !== null && id === asked['id'];
  return !isOfRequest && /session/i.test(JSON.stringify(error['message']));
};

/** What a server says of a refusal is not kept: it may repeat the credentials. */
const toRefusal = ({ status, headers, body }: HttpAnswer, isSessionLost: boolean): Error => {
  leaveBody(body);
  const message = `the server answered with status ${status}`;
  const terms = headers['payment-required'];
  if (status === 402 && typeof terms === 'string') return new PaymentRequiredError(message, terms);
  if (status === 429) return new BusyError(message, headers['retry-after']);
  return isSessionLost || refusals.has(status) ? new UnsentError(message, isSessionLost) : new Error(message);
};

/** Hands a standing stream on, until it ends or has an event that is too long. The SDK would open it anew, as another session. */
async function* readEvents(body: AsyncIterable<Buffer>, onEnd: () => void): AsyncGenerator<Buffer> {
  let bytes = 0;
  try {
    for await (const chunk of body) {
      const end = Math.max(chunk.lastIndexOf('\n\n'), chunk.lastIndexOf('\n\r\n'));
      bytes = end < 0 ? bytes + chunk.length : chunk.length - end;
      if (bytes > limits.lineBytes) throw new Error('the server sent an event that is too long');
      yield chunk;
    }
  } finally {
    onEnd();
  }
}
