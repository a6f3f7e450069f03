import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { startHttp } from '../../http/local-hosts.ts';
import { verifyByContract, type ReceivedWebhook } from './verify-by-contract.ts';

export interface Delivery extends ReceivedWebhook {
  method: string | undefined;
  eventId: string;
  /** Whether the receiver, at its time, takes it for genuine. */
  isGenuine: boolean;
}

/** What a receiver does with a delivery: a status, with headers, or nothing, or a reset of the connection. */
export type Reaction =
  | number
  | { status: number; headers: Record<string, string> }
  | 'hang'
  | 'reset'
  /** Acknowledges when the promise resolves. */
  | Promise<void>;

export interface ReceiverOptions {
  secret: () => string;
  now: () => number;
  /** What to do with a genuine delivery; default 204. */
  react?: (delivery: Delivery, index: number) => Reaction;
}

export interface Receiver {
  url: string;
  deliveries: Delivery[];
}

/** A customer's receiver as the contract describes it: 401 for what is not genuine, and otherwise as the test says. */
export const startReceiver = async (options: ReceiverOptions): Promise<Receiver> => {
  const deliveries: Delivery[] = [];
  return { url: `${await startHttp(receiveInto(deliveries, options))}/hooks/images`, deliveries };
};

/** Receivers of several customers at one host, each at a path of its own. */
export const shareHost = async (
  receivers: (ReceiverOptions & { path: string })[],
): Promise<{ url: string; deliveriesTo: (path: string) => Delivery[] }> => {
  const places = new Map(
    receivers.map(({ path, ...options }) => {
      const deliveries: Delivery[] = [];
      return [path, { deliveries, receive: receiveInto(deliveries, options) }];
    }),
  );
  const url = await startHttp((request, response) =>
    places.get(request.url ?? '')?.receive(request, response),
  );
  return { url, deliveriesTo: (path) => places.get(path)?.deliveries ?? [] };
};

/** The receiver itself, for a server of the test's own. */
export const receiveInto = (deliveries: Delivery[], options: ReceiverOptions): RequestListener => {
  const { secret, now, react = () => 204 } = options;
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const raw = await buffer(request);
    const { headers, method } = request;
    const isGenuine = verifyByContract({ headers, raw }, { secret: secret(), now: now() });
    const { event_id: eventId } = JSON.parse(raw.toString('utf8')) as { event_id: string };
    const delivery = { headers, raw, method, eventId, isGenuine };
    deliveries.push(delivery);
    await act(response, isGenuine ? react(delivery, deliveries.length - 1) : 401);
  };
  return (request, response) => {
    // A caller that hangs up while it sends is no concern of the test's.
    receive(request, response).catch(() => response.destroy());
  };
};

const act = async (response: ServerResponse, reaction: Reaction): Promise<void> => {
  if (reaction === 'hang') return;
  if (reaction === 'reset') response.socket?.resetAndDestroy();
  else if (typeof reaction === 'number') response.writeHead(reaction).end('noted');
  else if (reaction instanceof Promise) {
    await reaction;
    response.writeHead(200).end();
  } else response.writeHead(reaction.status, reaction.headers).end();
};
