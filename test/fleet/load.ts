import { setTimeout as delay } from 'node:timers/promises';
import type { CallbackReceiver } from '../../scripts/contract/callback-receiver.ts';
import type { Challenge } from '../../src/payments/wire/challenge.ts';
import { createBuyer, type Buyer } from '../payments/support/buyer.ts';
import { createCustomer, type Answer, type Call, type Customer } from './customer.ts';
import type { Fleet } from './start-fleet.ts';

export type Kind = 'chat' | 'stream' | 'image' | 'search';

/** A piece of work that was answered to its end. */
export interface Done {
  kind: Kind;
  /** Of the job, or of the payment. */
  id: string;
  /** Sends the same request again. Resolves with the id that the answer has. */
  again(): Promise<string>;
}

export interface LoadOptions {
  fleet: Fleet;
  apiKey: string;
  receiver: CallbackReceiver;
  seed: number;
}

const callers = 24;
const mostWork = 3_000;
const mostSearches = 40;
const addresses = 16;

/** Numbers in [0, 1), the same for the same seed. */
const createRandom = (seed: number) => {
  let state = seed;
  return (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

interface Tools extends LoadOptions {
  customers: readonly Customer[];
  buyer: Buyer;
}

interface Order {
  kind: Kind;
  number: number;
  /** In [0, 1). */
  chance: number;
}

const idIn = (text: string): string => /"id":\s*"([^"]+)"/.exec(text)?.[1] ?? '';

/** A job that is asked for by one call. */
const askForJob = async (
  kind: Kind,
  ask: () => Promise<Answer>,
  untilEnded: (id: string) => Promise<unknown> = async () => undefined,
): Promise<Done> => {
  const id = idIn((await ask()).text);
  await untilEnded(id);
  return { kind, id, again: async () => idIn((await ask()).text) };
};

const runJob = ({ fleet, apiKey, receiver, seed, customers }: Tools, order: Order): Promise<Done> => {
  const { kind, number, chance } = order;
  const customer = customers[number % addresses] ?? createCustomer('127.0.0.1');
  const authorization = `Bearer ${apiKey}`;
  const headers = { authorization, 'idempotency-key': `fleet-${seed}-${number}` };
  // One of five is under way long enough for a death to meet it.
  const prompt = `${chance < 0.2 ? '[sandbox:slow=2] ' : ''}Request ${number}`;
  if (kind === 'image') {
    const body = { model: 'imagemodel-1.0', prompt, webhook_url: receiver.address(`image-${number}`) };
    const call: Call = { url: `${fleet.url}/v1/images/generations?async=true`, headers, body };
    return askForJob(
      kind,
      () => customer.ask(call, { expected: [200, 202] }),
      (id) =>
        customer.ask(
          { url: `${fleet.url}/v1/jobs/${id}`, headers: { authorization } },
          { expected: [200], isWhole: (text) => text.includes('"status":"done"') },
        ),
    );
  }
  const isStream = kind === 'stream';
  const body = { messages: [{ role: 'user', content: prompt }], max_tokens: 60, stream: isStream };
  const call: Call = { url: `${fleet.url}/v1/chat/completions`, headers, body };
  const isWhole = (text: string): boolean => !isStream || text.endsWith('data: [DONE]\n\n');
  return askForJob(kind, () => customer.ask(call, { expected: [200], isWhole }));
};

/** Buys a search: asks for the terms, signs, and sends the same proof until it is served. */
const runSearch = async (tools: Tools, { number, chance }: Order): Promise<Done> => {
  const customer = tools.customers[number % addresses] ?? createCustomer('127.0.0.1');
  const url = `${tools.fleet.url}/v1/search?query=coffee&limit=20`;
  const terms = await customer.ask({ url, headers: {} }, { expected: [402] });
  const challenge = {
    header: terms.headers.get('payment-required') ?? '',
    body: JSON.parse(terms.text) as Challenge['body'],
  } as Challenge;
  const { paymentSignature = '' } = await tools.buyer.prove(challenge, chance < 0.7 ? 'base' : 'solana');
  const pay = async (): Promise<string> => {
    const paid = await customer.ask(
      { url, headers: { 'payment-signature': paymentSignature } },
      { expected: [200] },
    );
    const receipt = Buffer.from(paid.headers.get('payment-response') ?? '', 'base64').toString();
    return (JSON.parse(receipt) as { transaction: string }).transaction;
  };
  return { kind: 'search', id: await pay(), again: pay };
};

/**
 * Asks for texts, streams, images and searches, by chance of the seed, until `isOver`. Resolves when everything that was
 * asked for was answered to its end; throws if something was not.
 */
export const runLoad = async (
  options: LoadOptions,
  isOver: () => boolean,
): Promise<{ done: Done[]; repeats: number }> => {
  const random = createRandom(options.seed);
  const customers = Array.from({ length: addresses }, (_, place) => createCustomer(`127.0.0.${place + 2}`));
  const tools: Tools = { ...options, customers, buyer: await createBuyer(options.fleet.chains) };
  const done: Done[] = [];
  let number = 0;
  let searches = 0;
  const kindOf = (chance: number): Kind => {
    if (chance < 0.1 && searches < mostSearches) {
      searches += 1;
      return 'search';
    }
    return chance < 0.2 ? 'image' : chance < 0.5 ? 'stream' : 'chat';
  };
  const call = async (): Promise<void> => {
    while (!isOver() && number < mostWork) {
      const order = { kind: kindOf(random()), number: (number += 1), chance: random() };
      done.push(await (order.kind === 'search' ? runSearch(tools, order) : runJob(tools, order)));
      await delay(order.chance * 100);
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return { done, repeats: customers.reduce((sum, { repeats }) => sum + repeats(), 0) };
};
