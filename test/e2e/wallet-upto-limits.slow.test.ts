import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import type { Challenge } from '../../src/payments/wire/challenge.ts';
import { parseProof, paymentIdentity } from '../../src/payments/wire/parse-proof.ts';
import { permit2Addresses } from '../chains/permit2-code.ts';
import { createUptoBuyer, type UptoBuyer } from '../payments/support/upto-buyer.ts';
import { startPaidSearch, type PaidSearch } from './start-paid-search.ts';

const chats = '/v1/chat/completions';
const tenUsd = 10_000_000n;

/** USDC of Base Sepolia, as if it had no ERC-3009; and a model of $100 for a million tokens. */
const yaml = `
x402:
  networks:
    eip155:84532:
      asset: { symbol: USDC, address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", decimals: 6, transfer: permit2 }
models:
  dear: { kind: chat, price: { unit: token, input_usd_per_1m: "100", output_usd_per_1m: "100" }, routes: [{ provider: sandbox }] }
`;

let sale: PaidSearch;
beforeAll(async () => {
  sale = await startPaidSearch({ environment: { WALLET_ACCOUNTS: 'on' }, yaml });
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => sale.stop());

const createWallet = async (): Promise<UptoBuyer> => {
  const wallet = await createUptoBuyer(sale.chains.base, tenUsd);
  await wallet.callToken('approve', [permit2Addresses.permit2, tenUsd]);
  return wallet;
};
type Required = Challenge['paymentRequired'];
const send = (body: object, paymentSignature?: string): Promise<Response> =>
  sale.gateway.call(chats, {
    apiKey: null,
    body,
    headers: paymentSignature === undefined ? {} : { 'payment-signature': paymentSignature },
  });
const termsOf = async (body: object): Promise<Required> => {
  const answer = await send(body);
  return JSON.parse(atob(answer.headers.get('payment-required') ?? '')) as Required;
};
const prove = async (wallet: UptoBuyer, required: Required, scheme: string): Promise<string> => {
  const accepts = required.accepts.filter((terms) => terms.scheme === scheme);
  const header = btoa(JSON.stringify({ ...required, accepts }));
  const { paymentSignature } = await wallet.prove({ header, body: {} } as Challenge);
  return paymentSignature ?? '';
};
const spentBy = async ({ address }: UptoBuyer): Promise<bigint> =>
  tenUsd - (await sale.chains.base.balanceOf(address));

it('a call of more than five dollars is neither offered nor sold by what is used', async () => {
  const ask = (tokens: number) => ({
    model: 'dear',
    messages: [{ role: 'user', content: 'Say hello.' }],
    max_tokens: tokens,
  });
  const cheap = await termsOf(ask(40_000));
  expect(cheap.accepts.map(({ scheme }) => scheme)).toContain('upto');
  const dear = await termsOf(ask(60_000));
  expect(dear.accepts.map(({ scheme }) => scheme)).not.toContain('upto');
  // A proof by terms that a client could make of those of another call.
  const { amount } = dear.accepts[0] ?? {};
  const made = cheap.accepts.map((terms) => ({ ...terms, amount: amount ?? '' }));
  const wallet = await createWallet();
  const refused = await send(ask(60_000), await prove(wallet, { ...dear, accepts: made }, 'upto'));
  expect([refused.status, await refused.json()]).toMatchObject([402, { error: 'payment_scheme_mismatch' }]);
  expect(await spentBy(wallet)).toBe(0n);
  const paid = await send(ask(60_000), await prove(wallet, dear, 'exact'));
  expect(paid.status).toBe(200);
  expect(await spentBy(wallet)).toBe(BigInt(amount ?? 0));
});

it('a proof that was freed when its answer was made, and comes again as a payment in advance, is settled', async () => {
  const body = { model: 'dear', messages: [{ role: 'user', content: 'Twice.' }], max_tokens: 20 };
  const { store, clock } = sale.gateway.services;
  const wallet = await createWallet();
  const terms = await termsOf(body);
  // The same nonce is the same payment.
  const fixed = crypto.getRandomValues(new Uint8Array(32));
  vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => {
    if (array instanceof Uint8Array && array.length === 32) array.set(fixed);
    return array;
  });
  const upto = await prove(wallet, terms, 'upto');
  const exact = await prove(wallet, terms, 'exact');
  vi.restoreAllMocks();
  const identity = await paymentIdentity(parseProof({ paymentSignature: upto }));
  expect(await paymentIdentity(parseProof({ paymentSignature: exact }))).toBe(identity);

  // The process dies when the answer is made.
  const advance = store.advanceCredit;
  vi.spyOn(store, 'advanceCredit').mockImplementation((input) =>
    input.change.to === 'produced' ? Promise.reject(new Error('died')) : advance(input),
  );
  expect((await send(body, upto)).status).toBeGreaterThanOrEqual(500);
  vi.restoreAllMocks();
  const freed = { identity, from: ['verified'] as const, to: 'rejected' as const, now: clock.now() };
  const payment = await store.advancePayment(freed);
  const accountId = payment?.accountId ?? '';
  expect(await store.owesForJobs(accountId)).toBe(true);

  const answer = await send(body, exact);
  const { id } = (await answer.json()) as { id: string };
  expect([answer.status, id]).toEqual([200, `chatcmpl-${payment?.jobId}`]);
  expect(await spentBy(wallet)).toBe(BigInt(terms.accepts[0]?.amount ?? 0));
  expect(await store.owesForJobs(accountId)).toBe(false);
  expect((await store.checkLedger()).problems).toEqual([]);
});
