import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Charge {
  id: string;
  object: 'charge';
  amount: number;
  amount_refunded: number;
  disputed: boolean;
  payment_intent: string;
  created: number;
  payment_method_details: { card: { brand: string; last4: string } };
}

export interface StubIntent {
  id: string;
  object: 'payment_intent';
  status: string;
  amount_received: number;
  currency: string;
  livemode: boolean;
  customer: string | null;
  payment_method: string | null;
  metadata: Record<string, string>;
  created: number;
  last_payment_error: { code: string; decline_code?: string } | null;
  latest_charge: Charge | null;
}

export const newName = (prefix: string): string => `${prefix}_${randomBytes(12).toString('hex')}`;

export class StubError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly intent: StubIntent | undefined;

  constructor(status: number, message: string, code?: string, intent?: StubIntent) {
    super(message);
    this.intent = intent;
    this.status = status;
    this.code = code;
  }
}

export interface StubEvent {
  id: string;
  object: 'event';
  type: string;
  livemode: boolean;
  data: { object: object };
}

interface StubIntentsOptions {
  /** In seconds. */
  now(): number;
  /** Why the bank refuses saved cards; null: it does not. */
  refusal(): StubIntent['last_payment_error'];
  note(type: string, object: object): StubEvent;
}

/** The payment intents and saved cards of the stub. */
export const createStubIntents = ({ now, refusal: refusalNow, note }: StubIntentsOptions) => {
  /** Intents that were made without a page, newest first, as Stripe lists them. */
  const charges: StubIntent[] = [];
  /** The cards of customers. */
  const saved = new Map<string, string>();
  const deletedCustomers = new Set<string>();
  const assertCustomer = (customer: string): void => {
    if (deletedCustomers.has(customer))
      throw new StubError(400, `No such customer: '${customer}'`, 'resource_missing');
  };
  const chargeAnswers = new Map<string, { form: string; answer: () => object }>();
  const flatIntent = (intent: StubIntent) => ({
    ...structuredClone(intent),
    latest_charge: intent.latest_charge?.id ?? null,
  });

  const newIntent = (parts: Partial<StubIntent>, cents: number): StubIntent => {
    const id = newName('pi');
    const charge = { id: newName('ch'), object: 'charge', amount_refunded: 0, disputed: false } as const;
    return {
      id,
      object: 'payment_intent',
      status: 'succeeded',
      amount_received: cents,
      currency: 'usd',
      livemode: false,
      customer: null,
      payment_method: null,
      metadata: {},
      created: now(),
      last_payment_error: null,
      latest_charge: {
        ...charge,
        amount: cents,
        payment_intent: id,
        created: now(),
        payment_method_details: { card: { brand: 'visa', last4: '4242' } },
      },
      ...parts,
    };
  };

  /** Charges a saved card, without a person. */
  const chargeSaved = (form: URLSearchParams): (() => object) => {
    const [customer, method] = [String(form.get('customer')), String(form.get('payment_method'))];
    if (form.get('off_session') !== 'true' || form.get('confirm') !== 'true')
      throw new StubError(400, 'only saved cards are charged here');
    if (form.get('automatic_payment_methods[allow_redirects]') !== 'never')
      throw new StubError(400, 'A `return_url` must be specified');
    if (form.has('payment_method_types[0]'))
      throw new StubError(400, 'Received unknown parameter: payment_method_types', 'parameter_unknown');
    if (saved.get(method) !== customer)
      throw new StubError(400, `No such PaymentMethod: '${method}'`, 'resource_missing');
    const refusal = refusalNow();
    const cents = refusal === null ? Number(form.get('amount')) : 0;
    const intent = newIntent(
      {
        status: refusal === null ? 'succeeded' : 'requires_payment_method',
        customer,
        payment_method: refusal === null ? method : null,
        metadata: { card_payment: String(form.get('metadata[card_payment]')) },
        currency: String(form.get('currency')),
        last_payment_error: refusal,
      },
      cents,
    );
    charges.unshift(intent);
    if (refusal === null) note('payment_intent.succeeded', flatIntent(intent));
    return () => {
      if (refusal !== null) throw new StubError(402, 'Your card was declined.', refusal.code, intent);
      return flatIntent(intent);
    };
  };

  const takeCharge = async (request: IncomingMessage): Promise<object> => {
    const key = String(request.headers['idempotency-key']);
    const form = await text(request);
    const before = chargeAnswers.get(key);
    if (before !== undefined && before.form !== form)
      throw new StubError(400, 'Keys for idempotent requests can only be used with the same parameters');
    const { answer } = before ?? { answer: chargeSaved(new URLSearchParams(form)) };
    chargeAnswers.set(key, { form, answer });
    return answer();
  };

  const answerIntents = async (request: IncomingMessage, url: URL): Promise<object | null> => {
    const [, id] = /^\/v1\/payment_intents\/(\w+)$/.exec(url.pathname) ?? [];
    const [, method] = /^\/v1\/payment_methods\/(\w+)\/detach$/.exec(url.pathname) ?? [];
    if (method !== undefined) {
      if (!saved.delete(method)) throw new StubError(404, 'No such payment_method', 'resource_missing');
      return { id: method, object: 'payment_method', customer: null };
    }
    if (id !== undefined) {
      const intent = charges.find((one) => one.id === id);
      if (intent === undefined) throw new StubError(404, 'No such payment_intent', 'resource_missing');
      return structuredClone(intent);
    }
    if (url.pathname !== '/v1/payment_intents') return null;
    if (request.method === 'POST') return takeCharge(request);
    const customer = url.searchParams.get('customer');
    assertCustomer(String(customer));
    const data = charges
      .filter((one) => one.customer === customer)
      .slice(0, Number(url.searchParams.get('limit')));
    return { object: 'list', url: url.pathname, has_more: false, data: data.map(flatIntent) };
  };

  return {
    newIntent,
    charges,
    saved,
    assertCustomer,
    /** Deletes a customer with its cards. */
    deleteCustomer: (customer: string): void => {
      deletedCustomers.add(customer);
      for (const [method, owner] of saved) if (owner === customer) saved.delete(method);
    },
    /** Null: the request is about something else. */
    answer: answerIntents,
    /** Charges a saved card, as a call does that comes late. */
    charge: ({
      payment,
      cents,
      customer,
    }: {
      payment: string;
      cents: number;
      customer: string;
    }): StubEvent => {
      const intent = newIntent({ customer, metadata: { card_payment: payment } }, cents);
      charges.unshift(intent);
      return note('payment_intent.succeeded', flatIntent(intent));
    },
  };
};
