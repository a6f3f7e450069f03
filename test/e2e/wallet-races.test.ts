import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { issueKey } from '../../src/accounts/issue-key.ts';
import { createUptoBuyer, type UptoBuyer } from '../payments/support/upto-buyer.ts';
import { permit2Addresses } from '../chains/permit2-code.ts';
import type { Challenge } from '../../src/payments/core/challenge.ts';
import type { Job, Payment } from '../../src/store/store.ts';
import { startPaidSearch, type PaidSearch } from './start-paid-search.ts';

const chat = { messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 20 };
const path = '/v1/chat/completions';
const oneUsd = 1_000_000n;

let sale: PaidSearch;
beforeAll(async () => {
  sale = await startPaidSearch({ environment: { WALLET_ACCOUNTS: 'on', TRUSTED_PROXY_HOPS: '1' } });
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => sale.stop());

let addresses = 0;
/** Sends a call from an address of its own, as there are limits for each. */
const send = (body: object, headers: Record<string, string> = {}, apiKey: string | null = null) => {
  addresses += 1;
  const from = { 'x-forwarded-for': `198.51.${addresses >> 8}.${addresses & 255}` };
  return sale.gateway.call(path, { apiKey, body, headers: { ...from, ...headers } });
};

/** The terms of a call; by default of the scheme `upto` first. */
const challengeOf = async (body: object, scheme = 'upto'): Promise<Challenge> => {
  const answer = await send(body);
  const header = answer.headers.get('payment-required') ?? '';
  const required = JSON.parse(atob(header)) as Challenge['paymentRequired'];
  const accepts = required.accepts.filter((terms) => terms.scheme === scheme);
  const text = JSON.stringify({ ...required, accepts });
  return { header: btoa(text), body: (await answer.json()) as Challenge['body'] } as Challenge;
};

/** A wallet from whose money Permit2 may take enough for several payments at once. */
const createWallet = async (): Promise<UptoBuyer> => {
  const wallet = await createUptoBuyer(sale.chains.base, oneUsd);
  await wallet.callToken('approve', [permit2Addresses.permit2, oneUsd]);
  return wallet;
};
const prove = async (wallet: UptoBuyer, body: object, scheme?: string): Promise<Record<string, string>> => {
  const { paymentSignature } = await wallet.prove(await challengeOf(body, scheme));
  return { 'payment-signature': paymentSignature ?? '' };
};

const accountOf = async ({ address }: { address: string }) => {
  const { store } = sale.gateway.services;
  const account = await store.findWalletAccount({
    wallet: `eip155:${address.toLowerCase()}`,
    isSandbox: true,
  });
  if (account === null) throw new Error('the wallet has no account');
  return account;
};

/** All jobs and payments of a wallet, whose balance is what it paid less what its jobs cost. */
const booksOf = async (wallet: UptoBuyer): Promise<{ jobs: Job[]; paid: Payment[] }> => {
  const { store } = sale.gateway.services;
  const { id: accountId, available } = await accountOf(wallet);
  const listed = await store.listJobs({ accountId, limit: 100, before: null });
  const jobs = await Promise.all(listed.map(({ id }) => store.getJob({ id, accountId })));
  const payments = await store.listPayments({ limit: 1_000 });
  const paid = payments.filter(
    (payment) => payment.accountId === accountId && /settled|delivered/.test(payment.state),
  );
  const spent = jobs.reduce((sum, job) => sum + (job?.charged ?? 0n), 0n);
  expect(available).toBe(paid.reduce((sum, { credited }) => sum + credited, 0n) - spent);
  expect(await store.owesForJobs(accountId)).toBe(false);
  expect((await store.checkLedger()).problems).toEqual([]);
  expect(oneUsd - (await sale.chains.base.balanceOf(wallet.address))).toBe(
    paid.reduce((sum, { amount, settledAmount }) => sum + (settledAmount ?? amount), 0n),
  );
  return { jobs: jobs.filter((job) => job !== null), paid };
};

describe('two proofs under one idempotency key', () => {
  it('at once by what is used pay for one job, which one of them settles', async () => {
    const { store } = sale.gateway.services;
    const wallet = await createWallet();
    const headers = { 'idempotency-key': 'at-once' };
    const proofs = [await prove(wallet, chat), await prove(wallet, chat)];
    // The first payment comes second to the job; and the opener learns of its job when the other one has met it.
    const [isAsked, isOpen, met] = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
    ];
    const open = store.openJob;
    vi.spyOn(store, 'openJob')
      .mockImplementationOnce(async (input) => {
        isAsked.resolve();
        await isOpen.promise;
        return open(input);
      })
      .mockImplementationOnce(async (input) => {
        const opened = await open(input);
        isOpen.resolve();
        await met.promise;
        return opened;
      });
    const find = store.findPaymentOfJob;
    vi.spyOn(store, 'findPaymentOfJob').mockImplementation(async (id) => {
      const found = await find(id);
      met.resolve();
      return found;
    });
    const first = send(chat, { ...headers, ...proofs[0] }).finally(met.resolve);
    await isAsked.promise;
    const second = send(chat, { ...headers, ...proofs[1] });
    const statuses = [(await first).status, (await second).status];
    const { jobs, paid } = await booksOf(wallet);
    expect(jobs).toHaveLength(1);
    expect(paid).toHaveLength(1);
    expect(statuses).toEqual([409, 200]);
    // Asked again, as 409 says, the first one gets the answer, and settles nothing.
    expect((await send(chat, { ...headers, ...proofs[0] })).status).toBe(200);
    expect((await booksOf(wallet)).paid).toHaveLength(1);
  });

  it('of many wallets at once leave nothing unpaid and nothing paid for nothing', async () => {
    const wallets: UptoBuyer[] = [];
    while (wallets.length < 6) wallets.push(await createWallet());
    await Promise.all(
      wallets.map(async (wallet) => {
        const proofs = [
          await prove(wallet, chat),
          await prove(wallet, chat),
          await prove(wallet, chat, 'exact'),
        ];
        const answers = await Promise.all(
          proofs.map((proof) => send(chat, { 'idempotency-key': 'race', ...proof })),
        );
        expect(answers.map(({ status }) => status)).toContain(200);
      }),
    );
    for (const wallet of wallets) expect((await booksOf(wallet)).jobs).toHaveLength(1);
  });
});

it('a settled proof with several idempotency keys at once is answered with one job', async () => {
  const wallet = await createWallet();
  const topUp = await send(chat, await prove(wallet, chat, 'exact'));
  expect(topUp.status).toBe(200);
  const question = { ...chat, messages: [{ role: 'user', content: 'Ask much, pay once.' }] };
  const { store } = sale.gateway.services;
  const proof = await prove(wallet, question, 'exact');
  vi.spyOn(store, 'openJob').mockRejectedValueOnce(new Error('away'));
  expect((await send(question, proof)).status).toBeGreaterThanOrEqual(500);
  const keys = Array.from({ length: 8 }, (_, index) => `key-${index}`);
  const answers = await Promise.all(keys.map((key) => send(question, { 'idempotency-key': key, ...proof })));
  expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 200));
  const ids = await Promise.all(answers.map(async (answer) => ((await answer.json()) as { id: string }).id));
  expect(new Set(ids).size).toBe(1);
  const { jobs, paid } = await booksOf(wallet);
  expect([jobs.length, paid.length]).toEqual([2, 2]);
});

it('a job that was paid from the balance is answered again for a proof, which is not settled', async () => {
  const wallet = await createWallet();
  expect((await send(chat, await prove(wallet, chat, 'exact'))).status).toBe(200);
  const { id: accountId } = await accountOf(wallet);
  const { store, clock } = sale.gateway.services;
  const issued = await issueKey({ store, clock }, { accountId, label: '', brand: 'causeway' });
  if (issued.outcome !== 'issued') throw new Error(issued.outcome);
  const question = { ...chat, messages: [{ role: 'user', content: 'From the balance.' }] };
  const headers = { 'idempotency-key': 'from-balance' };
  expect((await send(question, headers, issued.key)).status).toBe(200);
  const repeated = await send(question, { ...headers, ...(await prove(wallet, question)) });
  expect(repeated.status).toBe(200);
  const { jobs, paid } = await booksOf(wallet);
  expect([jobs.length, paid.length]).toEqual([2, 1]);
});

it('the answer of a payment that failed is withheld until another one pays for it', async () => {
  const wallet = await createWallet();
  const { base } = sale.chains;
  const question = { ...chat, messages: [{ role: 'user', content: 'The money goes.' }] };
  const headers = { 'idempotency-key': 'moved' };
  const { store } = sale.gateway.services;
  const finish = store.finishJob;
  vi.spyOn(store, 'finishJob').mockImplementationOnce(async (input) => {
    await wallet.callToken('transfer', [base.seller.address, oneUsd]);
    return finish(input);
  });
  const failed = await send(question, { ...headers, ...(await prove(wallet, question)) });
  expect(failed.status).toBe(402);
  const { id: accountId } = await accountOf(wallet);
  expect(await store.owesForJobs(accountId)).toBe(true);
  const unpaid = await send(question, { ...headers, ...(await prove(wallet, question, 'exact')) });
  expect(unpaid.status).toBe(402);
  await base.mint(wallet.address, oneUsd);
  const paid = await send(question, { ...headers, ...(await prove(wallet, question, 'exact')) });
  expect(paid.status).toBe(200);
  expect(paid.headers.has('payment-response')).toBe(true);
  expect(await store.owesForJobs(accountId)).toBe(false);
  expect((await store.checkLedger()).problems).toEqual([]);
  const { id } = (await paid.json()) as { id: string };
  expect(await store.findPaymentOfJob(id.replace('chatcmpl-', ''))).toMatchObject({
    state: 'delivered',
    accountId,
  });
  // It is paid now: a further proof is answered and not settled.
  const spent = await sale.earned();
  const again = await send(question, { ...headers, ...(await prove(wallet, question, 'exact')) });
  expect([again.status, await sale.earned()]).toEqual([200, spent]);
});
