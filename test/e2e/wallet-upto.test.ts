import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { toClientEvmSigner } from '@x402/evm';
import { UptoEvmScheme } from '@x402/evm/upto/client';
import OpenAI from 'openai';
import { createPublicClient, http } from 'viem';
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parseUsd } from '../../src/kit/money.ts';
import { parseProof, paymentIdentity } from '../../src/payments/wire/parse-proof.ts';
import { startPaidSearch, type PaidSearch } from './start-paid-search.ts';

const chat = { messages: [{ role: 'user', content: 'Say hello.' }] };
const oneUsd = 1_000_000n;

let sale: PaidSearch;
beforeAll(async () => {
  sale = await startPaidSearch({ environment: { WALLET_ACCOUNTS: 'on' } });
});
afterAll(() => sale.stop());

const createWallet = async (): Promise<PrivateKeyAccount> => {
  const wallet = privateKeyToAccount(generatePrivateKey());
  await sale.chains.base.mint(wallet.address, oneUsd);
  return wallet;
};

/** Keeps the last proof that the stock client sent. */
let lastProof: string;
const watched: typeof fetch = async (input, init) => {
  const request = new Request(input, init);
  lastProof = request.headers.get('payment-signature') ?? lastProof;
  return fetch(request);
};

/** Pays by the stock client, which knows no other scheme and has no coin of the chain. */
const payingFetch = (wallet: PrivateKeyAccount, sending = watched): typeof fetch => {
  const transport = http(sale.chains.base.rpcUrl);
  const reader = createPublicClient({ chain: baseSepolia, transport });
  const client = new x402Client().register('eip155:*', new UptoEvmScheme(toClientEvmSigner(wallet, reader)));
  return wrapFetchWithPayment(sending, client);
};

const pay = (
  wallet: PrivateKeyAccount,
  path: string,
  body: object,
  sending = watched,
  headers: Record<string, string> = {},
): Promise<Response> =>
  payingFetch(wallet, sending)(sale.gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

const spentBy = async ({ address }: PrivateKeyAccount): Promise<bigint> =>
  oneUsd - (await sale.chains.base.balanceOf(address));
const accountOf = ({ address }: PrivateKeyAccount) =>
  sale.gateway.services.store.findWalletAccount({
    wallet: `eip155:${address.toLowerCase()}`,
    isSandbox: true,
  });
const hasJob = async (wallet: PrivateKeyAccount): Promise<boolean> => {
  const account = await accountOf(wallet);
  if (account === null) return false;
  return (
    (await sale.gateway.services.store.listJobs({ accountId: account.id, limit: 1, before: null })).length > 0
  );
};
const patience = { timeout: 60_000 };
/** Waits until the payment of the last proof has come to its end, whoever has left. */
const whenDelivered = async (): Promise<void> => {
  const identity = await paymentIdentity(parseProof({ paymentSignature: lastProof }));
  await vi.waitUntil(
    async () => (await sale.gateway.services.store.getPayment(identity))?.state === 'delivered',
    patience,
  );
};
const costOf = (answer: Response): bigint => parseUsd(answer.headers.get('x-causeway-charge-usd') ?? '');

describe.each([
  ['chat', '/v1/chat/completions', chat],
  ['response', '/v1/responses', { input: 'Say hello.' }],
] as const)('a %s without a key', (_kind, path, body) => {
  it('is paid when it has ended, by what it used', async () => {
    const wallet = await createWallet();
    const answer = await pay(wallet, path, body);
    expect(answer.status).toBe(200);
    const cost = costOf(answer);
    expect(cost).toBeGreaterThan(0n);
    // Rounded up to a millionth of a dollar, of which the rest is balance.
    const units = (cost + 999n) / 1_000n;
    expect(await spentBy(wallet)).toBe(units);
    expect(await accountOf(wallet)).toMatchObject({ available: units * 1_000n - cost });
    const receipt = JSON.parse(atob(answer.headers.get('payment-response') ?? '')) as object;
    expect(receipt).toMatchObject({ success: true, amount: String(units) });
    expect((await sale.gateway.services.store.checkLedger()).problems).toEqual([]);

    const made = await answer.json();
    const headers = { 'payment-signature': lastProof };
    const again = await sale.gateway.call(path, { apiKey: null, body, headers });
    expect([again.status, await again.json()]).toEqual([200, made]);
    expect(await spentBy(wallet)).toBe(units);
  });
});

it('an image is paid in advance, and so is any call that a client pays by the usual scheme', async () => {
  const offered = async (path: string, body: object): Promise<string[]> => {
    const answer = await sale.gateway.call(path, { apiKey: null, body });
    const terms = JSON.parse(atob(answer.headers.get('payment-required') ?? '')) as {
      accepts: { scheme: string }[];
    };
    return terms.accepts.map(({ scheme }) => scheme);
  };
  expect(await offered('/v1/chat/completions', chat)).toEqual(['upto', 'exact', 'exact']);
  const image = { model: 'imagemodel-1.0', prompt: 'A causeway' };
  expect(await offered('/v1/images/generations', image)).toEqual(['exact', 'exact']);
});

it.each([
  ['chat', '/v1/chat/completions', chat, 'data: [DONE]'],
  ['response', '/v1/responses', { input: 'Say hello.' }, 'event: response.completed'],
] as const)('a streamed %s has its receipt before its end', async (_kind, path, body, end) => {
  const wallet = await createWallet();
  const answer = await pay(wallet, path, { ...body, stream: true });
  expect(answer.headers.get('content-type')).toContain('text/event-stream');
  const text = await answer.text();
  const comment = /^: x402-payment-response (\S+)$/m.exec(text);
  const spent = await spentBy(wallet);
  expect(JSON.parse(atob(comment?.[1] ?? ''))).toMatchObject({ success: true, amount: String(spent) });
  expect(text.slice(comment?.index).split('\n')[1]).toBe(end);
  expect(spent).toBeGreaterThan(0n);
  expect((await sale.gateway.services.store.checkLedger()).problems).toEqual([]);
});

it('a stream is read by the stock client of OpenAI', async () => {
  const wallet = await createWallet();
  const client = new OpenAI({
    apiKey: 'none',
    baseURL: `${sale.gateway.url}/v1`,
    fetch: (input, init) => {
      const headers = new Headers(init?.headers);
      headers.delete('authorization');
      return payingFetch(wallet)(input, { ...init, headers });
    },
  });
  const messages = [{ role: 'user', content: 'Say hello.' } as const];
  const stream = await client.chat.completions.create({
    model: 'textmodel-3.5-flash',
    messages,
    stream: true,
  });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  expect(text).not.toBe('');
  expect(await spentBy(wallet)).toBeGreaterThan(0n);
});

it('a call whose client leaves is paid all the same, and read later with the same proof', async () => {
  const wallet = await createWallet();
  const body = { messages: [{ role: 'user', content: 'Tell it to nobody.' }] };
  const gone = new AbortController();
  const leaving: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const answer = watched(request, { signal: gone.signal });
    if (!request.headers.has('payment-signature')) return answer;
    // An answer that came before it left counts as one that it did not get.
    await Promise.all([
      answer.catch(() => null),
      vi.waitUntil(() => hasJob(wallet), { ...patience, interval: 5 }).then(() => gone.abort()),
    ]);
    throw gone.signal.reason;
  };
  await expect(pay(wallet, '/v1/chat/completions', body, leaving)).rejects.toThrow('aborted');
  const headers = { 'payment-signature': lastProof };
  const askAgain = async (): Promise<Response | null> => {
    const answer = await sale.gateway.call('/v1/chat/completions', { apiKey: null, body, headers });
    return answer.status === 409 ? null : answer;
  };
  // The proof is in progress for a while, and the buyer asks again a second later, as the documents say.
  const answer = await vi.waitUntil(askAgain, { ...patience, interval: 1_000 });
  expect(answer.status).toBe(200);
  await whenDelivered();
  const spent = await spentBy(wallet);
  expect(spent).toBeGreaterThan(0n);
  expect((await askAgain())?.status).toBe(200);
  expect(await spentBy(wallet)).toBe(spent);
});

it('a stream that its client leaves is paid all the same', async () => {
  const wallet = await createWallet();
  const body = { messages: [{ role: 'user', content: 'Tell a long story.' }], stream: true };
  const answer = await pay(wallet, '/v1/chat/completions', body);
  await answer.body?.cancel();
  await whenDelivered();
  expect(await spentBy(wallet)).toBeGreaterThan(0n);
  expect((await sale.gateway.services.store.checkLedger()).problems).toEqual([]);
});

it('a call that fails costs nothing', async () => {
  const wallet = await createWallet();
  const body = { messages: [{ role: 'user', content: '[sandbox:fail]' }] };
  const answer = await pay(wallet, '/v1/chat/completions', body);
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(await spentBy(wallet)).toBe(0n);
  expect((await sale.gateway.services.store.checkLedger()).problems).toEqual([]);
});

it('a repeat with a fresh proof and the same idempotency key is not charged', async () => {
  const wallet = await createWallet();
  const headers = { 'idempotency-key': 'hello-1' };
  const first = await pay(wallet, '/v1/chat/completions', chat, watched, headers);
  const answer: unknown = await first.json();
  const spent = await spentBy(wallet);
  const again = await pay(wallet, '/v1/chat/completions', chat, watched, headers);
  expect([again.status, await again.json()]).toEqual([200, answer]);
  expect(spent).toBeGreaterThan(0n);
  expect(await spentBy(wallet)).toBe(spent);
});
