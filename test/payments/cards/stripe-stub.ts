import { once } from 'node:events';
import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  createStubIntents,
  newName,
  StubError,
  type Charge,
  type StubEvent,
  type StubIntent,
} from './stub-intents.ts';
import type { StripeAddress } from '../../../src/payments/cards/stripe-client.ts';

export const stripeKey = 'sk_test_0123456789';
export const stripeWebhookSecret = 'whsec_0123456789abcdef';

interface Dispute {
  id: string;
  object: 'dispute';
  amount: number;
  charge: string;
  payment_intent: string;
  status: string;
  balance_transactions: { amount: number }[];
}

export interface StubSession {
  id: string;
  object: 'checkout.session';
  url: string;
  mode: string;
  status: string;
  payment_status: string;
  amount_total: number;
  currency: string;
  livemode: boolean;
  client_reference_id: string | null;
  metadata: Record<string, string>;
  customer: string | null;
  payment_intent: StubIntent | null;
  success_url: string | null;
}

/** Signs a webhook as Stripe does. */
export const signEvent = (
  body: string,
  { secret = stripeWebhookSecret, at = Math.floor(Date.now() / 1_000) } = {},
): string => `t=${at},v1=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}`;

export type StripeStub = Awaited<ReturnType<typeof startStripeStub>>;

/** Stripe's API as far as it is used, on a free port. What persons and banks do are methods. */
export const startStripeStub = async () => {
  const sessions = new Map<string, StubSession>();
  const byIdempotencyKey = new Map<string, StubSession>();
  const disputes: Dispute[] = [];
  /** Oldest first. */
  const events: StubEvent[] = [];
  const asked: string[] = [];
  const state = {
    isDown: false,
    beforeAnswer: async (_path: string): Promise<void> => undefined,
    /** Requests, such as `POST /v1/payment_intents`, that Stripe carries out, but whose answers are lost. */
    loses: (_request: string): boolean => false,
    /** Why the bank refuses saved cards; null: it does not. */
    refusal: null as StubIntent['last_payment_error'],
    /** The time of what is made, in seconds. */
    now: () => Math.floor(Date.now() / 1_000),
  };

  /** Whether a session saves its card. */
  const saving = new Map<string, boolean>();

  const intents = createStubIntents({
    now: () => state.now(),
    refusal: () => state.refusal,
    note: (type, object) => note(type, object),
  });
  const { newIntent, charges, saved } = intents;

  const open = (form: URLSearchParams): StubSession => {
    const id = newName('cs_test');
    const session: StubSession = {
      id,
      object: 'checkout.session',
      url: `https://checkout.stripe.com/c/pay/${id}`,
      mode: String(form.get('mode')),
      status: 'open',
      payment_status: 'unpaid',
      amount_total: Number(form.get('line_items[0][price_data][unit_amount]')),
      currency: String(form.get('line_items[0][price_data][currency]')),
      livemode: false,
      client_reference_id: form.get('client_reference_id'),
      metadata: { card_payment: String(form.get('metadata[card_payment]')) },
      customer: form.get('customer'),
      payment_intent: null,
      success_url: form.get('success_url'),
    };
    const saves = form.get('payment_intent_data[setup_future_usage]') === 'off_session';
    const makesCustomer = form.get('customer_creation') === 'always';
    if (
      saves &&
      (form.has('customer') === makesCustomer || form.get('allowed_payment_method_types[0]') !== 'card')
    )
      throw new StubError(400, 'a saved card has one customer');
    intents.assertCustomer(String(session.customer));
    saving.set(id, saves);
    sessions.set(id, session);
    return session;
  };

  /** As Stripe answers without `expand`. */
  const flat = ({ payment_intent: intent, ...session }: StubSession) => ({
    ...session,
    payment_intent: intent?.id ?? null,
  });

  const listEvents = ({ searchParams }: URL): object => {
    const types = [...searchParams].flatMap(([name, value]) => (name.startsWith('types[') ? [value] : []));
    const limit = Number(searchParams.get('limit'));
    const oldest = searchParams.get('starting_after');
    const end = oldest === null ? events.length : events.findIndex(({ id }) => id === oldest);
    if (end === -1) throw new StubError(404, 'No such event', 'resource_missing');
    const known = events.slice(0, end).filter(({ type }) => types.includes(type));
    const page = known.slice(-limit);
    return {
      object: 'list',
      url: '/v1/events',
      has_more: known.length > limit,
      data: structuredClone(page).reverse(),
    };
  };

  const answer = async (request: IncomingMessage, url: URL): Promise<object> => {
    const { method = '', headers } = request;
    if (headers.authorization !== `Bearer ${stripeKey}`) throw new StubError(401, 'Invalid API Key provided');
    if (headers['stripe-version'] !== '2026-10-28.endive') throw new StubError(400, 'another version');
    const [, id] = /^\/v1\/checkout\/sessions\/(\w+)$/.exec(url.pathname) ?? [];
    if (method === 'POST' && url.pathname === '/v1/checkout/sessions') {
      const key = String(headers['idempotency-key']);
      const session = byIdempotencyKey.get(key) ?? open(new URLSearchParams(await text(request)));
      byIdempotencyKey.set(key, session);
      return flat(session);
    }
    const ofIntents = await intents.answer(request, url);
    if (ofIntents !== null) return ofIntents;
    if (id !== undefined) {
      const session = sessions.get(id);
      if (session === undefined) throw new StubError(404, 'No such checkout.session', 'resource_missing');
      const isExpanded = url.searchParams.get('expand[0]') === 'payment_intent.latest_charge';
      return isExpanded ? structuredClone(session) : flat(session);
    }
    if (url.pathname === '/v1/events') return listEvents(url);
    if (url.pathname === '/v1/disputes') {
      const data = disputes.filter(({ charge }) => charge === url.searchParams.get('charge'));
      return { object: 'list', url: url.pathname, has_more: false, data: structuredClone(data) };
    }
    throw new StubError(404, 'Unrecognized request URL');
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '', 'http://localhost');
    asked.push(`${request.method} ${url.pathname}`);
    let status = 200;
    let body: object;
    try {
      if (state.isDown) throw new StubError(500, 'down');
      body = await answer(request, url);
      await state.beforeAnswer(url.pathname);
    } catch (error) {
      if (!(error instanceof StubError)) throw error;
      status = error.status;
      const types = { 402: 'card_error', 500: 'api_error' } as const;
      const type = status === 402 || status === 500 ? types[status] : 'invalid_request_error';
      const { message, code, intent } = error;
      body = { error: { type, message, code, ...(intent && { payment_intent: intent }) } };
    }
    if (state.loses(`${request.method} ${url.pathname}`)) return void response.destroy();
    response.writeHead(status, { 'content-type': 'application/json', 'request-id': newName('req') });
    response.end(JSON.stringify(body));
  };
  const server = createServer((request, response) => void serve(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const note = (type: string, object: object): StubEvent => {
    const event: StubEvent = {
      id: newName('evt'),
      object: 'event',
      type,
      livemode: false,
      data: { object: structuredClone(object) },
    };
    events.push(event);
    return event;
  };
  const chargeOf = (paid: StubSession | StubIntent): Charge => {
    const intent = paid.object === 'payment_intent' ? paid : paid.payment_intent;
    const charge = intent?.latest_charge ?? null;
    if (charge === null) throw new Error('it is not paid');
    return charge;
  };

  const address: StripeAddress = {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    protocol: 'http',
  };
  return {
    address,
    state,
    sessions,
    events,
    charges,
    saved,
    charge: intents.charge,
    deleteCustomer: intents.deleteCustomer,
    /** The requests that came, such as `GET /v1/events`. */
    asked,
    sessionOf: (payment: string): StubSession => {
      const session = [...sessions.values()].find(({ metadata }) => metadata['card_payment'] === payment);
      if (session === undefined) throw new Error(`there is no session of ${payment}`);
      return session;
    },
    /** A person completes the page. `paid`: false for a payment that is settled later. */
    complete: (session: StubSession, { isPaid = true } = {}): StubEvent => {
      session.status = 'complete';
      session.payment_status = isPaid ? 'paid' : 'unpaid';
      const method = newName('pm');
      if (saving.get(session.id) === true) {
        session.customer ??= newName('cus');
        saved.set(method, session.customer);
      }
      session.payment_intent = newIntent(
        { status: isPaid ? 'succeeded' : 'processing', customer: session.customer, payment_method: method },
        session.amount_total,
      );
      return note('checkout.session.completed', flat(session));
    },
    /** A payment that was not by card comes, or does not. */
    settle: (session: StubSession, { isPaid }: { isPaid: boolean }): StubEvent => {
      session.payment_status = isPaid ? 'paid' : 'unpaid';
      if (session.payment_intent !== null)
        session.payment_intent.status = isPaid ? 'succeeded' : 'requires_payment_method';
      return note(`checkout.session.async_payment_${isPaid ? 'succeeded' : 'failed'}`, flat(session));
    },
    expire: (session: StubSession): StubEvent => {
      session.status = 'expired';
      return note('checkout.session.expired', flat(session));
    },
    /** A negative amount is a refund that failed. */
    refund: (paid: StubSession | StubIntent, cents: number): StubEvent => {
      const charge = chargeOf(paid);
      charge.amount_refunded += cents;
      return cents > 0
        ? note('charge.refunded', charge)
        : note('refund.failed', {
            id: newName('re'),
            object: 'refund',
            payment_intent: charge.payment_intent,
            status: 'failed',
          });
    },
    dispute: (session: StubSession, cents: number): { dispute: Dispute; event: StubEvent } => {
      const charge = chargeOf(session);
      charge.disputed = true;
      const dispute: Dispute = {
        id: newName('dp'),
        object: 'dispute',
        amount: cents,
        charge: charge.id,
        payment_intent: charge.payment_intent,
        status: 'needs_response',
        balance_transactions: [{ amount: -cents }],
      };
      disputes.push(dispute);
      return { dispute, event: note('charge.dispute.funds_withdrawn', dispute) };
    },
    close: (dispute: Dispute, status: 'won' | 'lost' | 'prevented'): StubEvent => {
      dispute.status = status;
      return note('charge.dispute.closed', dispute);
    },
    /** An event of another kind. */
    note,
    /** Sends an event to a gateway, signed. */
    deliver: (event: StubEvent, url: string): Promise<Response> => {
      const body = JSON.stringify(event);
      return fetch(`${url}/webhooks/stripe`, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signEvent(body) },
        body,
      });
    },
    stop: async (): Promise<void> => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
