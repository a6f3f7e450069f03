import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { formatUsd, parseUsd } from '../../src/kit/money.ts';
import { createTestDatabase } from '../cli/test-database.ts';
import { createUptoBuyer, type UptoBuyer } from '../payments/support/upto-buyer.ts';
import { permit2Addresses } from '../chains/permit2-code.ts';
import type { Challenge } from '../../src/payments/wire/challenge.ts';
import type { Job, ListedPayment } from '../../src/store/store.ts';
import { startPaidSearch, type PaidSearch } from './start-paid-search.ts';
import { issueKey } from '../../src/accounts/keys.ts';

const chat = { messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 20 };
const oneUsd = 1_000_000n;

let sale: PaidSearch;

let addresses = 0;
/** Sends a call from an address of its own, as there are limits for each. */
const pathOf = (body: object): string => {
  if ('prompt' in body) return '/v1/images/generations';
  return 'input' in body ? '/v1/responses' : '/v1/chat/completions';
};
const send = (body: object, headers: Record<string, string> = {}, apiKey: string | null = null) => {
  addresses += 1;
  const from = { 'x-forwarded-for': `198.51.${addresses >> 8}.${addresses & 255}` };
  return sale.gateway.call(pathOf(body), { apiKey, body, headers: { ...from, ...headers } });
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

/** A key of the wallet's account, as from a sign-in. */
const issueKeyOf = async (wallet: UptoBuyer): Promise<string> => {
  const { store, clock } = sale.gateway.services;
  const { id: accountId } = await accountOf(wallet);
  const issued = await issueKey({ store, clock }, { accountId, label: '', brand: 'causeway' });
  if (issued.outcome !== 'issued') throw new Error(issued.outcome);
  return issued.key;
};

/** All jobs and payments of a wallet, whose balance is what it paid less what its jobs cost. */
const booksOf = async (wallet: UptoBuyer): Promise<{ jobs: Job[]; paid: ListedPayment[] }> => {
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

/** Buys by what is used, and the wallet spends its money when the work is done. Returns the answer, and the job that is owed. */
const buyInVain = async (
  wallet: UptoBuyer,
  body: object,
  headers: Record<string, string> = {},
): Promise<{ status: number; job: Job }> => {
  const { store } = sale.gateway.services;
  const finish = store.finishJob;
  vi.spyOn(store, 'finishJob').mockImplementationOnce(async (input) => {
    await wallet.callToken('transfer', [sale.chains.base.seller.address, oneUsd]);
    return finish(input);
  });
  const { status } = await send(body, { ...(await prove(wallet, body)), ...headers });
  const { id: accountId } = await accountOf(wallet);
  expect(await store.owesForJobs(accountId)).toBe(true);
  const [latest] = await store.listJobs({ accountId, limit: 1, before: null });
  const job = await store.getJob({ id: latest?.id ?? '', accountId });
  if (job === null) throw new Error('there is no job');
  return { status, job };
};

const database = await createTestDatabase();
const stores: { store: string; environment: Record<string, string> }[] = [
  { store: 'SQLite', environment: {} },
  ...(database === null ? [] : [{ store: 'PostgreSQL', environment: { DATABASE_URL: database.url } }]),
];

describe.each(stores)('on $store', ({ environment }) => {
  beforeAll(async () => {
    sale = await startPaidSearch({
      environment: { WALLET_ACCOUNTS: 'on', TRUSTED_PROXY_HOPS: '1', ...environment },
    });
  });
  afterEach(() => vi.restoreAllMocks());
  afterAll(() => sale.stop());

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

    it.each([
      ['an account', true],
      ['a wallet', false],
    ])('of %s at once in advance: one is settled, and the other one is not taken', async (_of, hasKey) => {
      const question = { ...chat, messages: [{ role: 'user', content: 'Once, in advance.' }] };
      const wallet = await createWallet();
      expect((await send(chat, await prove(wallet, chat, 'exact'))).status).toBe(200);
      const apiKey = hasKey ? await issueKeyOf(wallet) : null;
      const headers = { 'idempotency-key': 'in-advance' };
      const proofs = [await prove(wallet, question, 'exact'), await prove(wallet, question, 'exact')];
      // Both have found no earlier job before one of them goes on.
      const { store } = sale.gateway.services;
      const find = store.findReplay;
      const bothAsked = Promise.withResolvers<void>();
      let asked = 0;
      vi.spyOn(store, 'findReplay').mockImplementation(async (input) => {
        const found = await find(input);
        asked += 1;
        if (asked === (hasKey ? 4 : 2)) bothAsked.resolve();
        if (asked <= (hasKey ? 4 : 2) && input.payment !== null) await bothAsked.promise;
        return found;
      });
      const answers = await Promise.all(
        proofs.map((proof) => send(question, { ...headers, ...proof }, apiKey)),
      );
      vi.restoreAllMocks();
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
      const { jobs, paid } = await booksOf(wallet);
      expect([jobs.length, paid.length]).toEqual([2, 2]);
      // Asked again, as 409 says, the refused one gets the answer, and is not settled.
      for (const proof of proofs)
        expect((await send(question, { ...headers, ...proof }, apiKey)).status).toBe(200);
      expect((await booksOf(wallet)).paid).toHaveLength(2);
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

  it.each([
    ['chat', { ...chat, messages: [{ role: 'user', content: 'Ask much, pay once.' }] }],
    ['image', { model: 'imagemodel-1.0', prompt: 'Many pictures for one.' }],
  ] as const)(
    'a settled proof of one %s with several idempotency keys at once is one job',
    async (_kind, question) => {
      const wallet = await createWallet();
      const topUp = await send(chat, await prove(wallet, chat, 'exact'));
      expect(topUp.status).toBe(200);
      const { store } = sale.gateway.services;
      const proof = await prove(wallet, question, 'exact');
      vi.spyOn(store, 'openJob').mockRejectedValueOnce(new Error('away'));
      expect((await send(question, proof)).status).toBeGreaterThanOrEqual(500);
      const keys = Array.from({ length: 8 }, (_, index) => `key-${index}`);
      const answers = await Promise.all(
        keys.map((key) => send(question, { 'idempotency-key': key, ...proof })),
      );
      expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 200));
      const ids = await Promise.all(
        answers.map(async (answer) => ((await answer.json()) as { id: string }).id),
      );
      expect(new Set(ids).size).toBe(1);
      const { jobs, paid } = await booksOf(wallet);
      expect([jobs.length, paid.length]).toEqual([2, 2]);
    },
  );

  it('a job that was paid from the balance is answered again for a proof, which is not settled', async () => {
    const wallet = await createWallet();
    expect((await send(chat, await prove(wallet, chat, 'exact'))).status).toBe(200);
    const question = { ...chat, messages: [{ role: 'user', content: 'From the balance.' }] };
    const headers = { 'idempotency-key': 'from-balance' };
    const unsent = await prove(wallet, question, 'exact');
    sale.chains.base.controls.inject({ fault: 'unavailable', methods: ['eth_estimateGas'], times: 1 });
    expect((await send(question, { ...headers, ...unsent })).status).toBe(503);
    expect((await send(question, headers, await issueKeyOf(wallet))).status).toBe(200);
    for (const proof of [await prove(wallet, question), unsent])
      expect((await send(question, { ...headers, ...proof })).status).toBe(200);
    const { jobs, paid } = await booksOf(wallet);
    expect([jobs.length, paid.length]).toEqual([2, 1]);
  });

  it.each([
    ['chat', { ...chat, messages: [{ role: 'user', content: 'The money goes.' }] }],
    ['response', { input: 'The money goes.', max_output_tokens: 20 }],
  ] as const)(
    'the answer of a %s whose payment failed is withheld until another one pays for it',
    async (kind, body) => {
      const wallet = await createWallet();
      const { base } = sale.chains;
      const headers = { 'idempotency-key': 'moved' };
      const { store } = sale.gateway.services;
      const { status, job } = await buyInVain(wallet, body, headers);
      expect(status).toBe(402);
      const { accountId } = job;
      const apiKey = await issueKeyOf(wallet);
      const read = async (): Promise<unknown> => {
        const path = kind === 'chat' ? `/v1/jobs/${job.id}` : `/v1/responses/resp_${job.id}`;
        const answer = await sale.gateway.call(path, { apiKey });
        const text = (await answer.json()) as { response?: object };
        return kind === 'chat' ? text.response !== undefined : answer.status === 200;
      };
      expect(await read()).toBe(false);
      // The balance is too small for the debt, also under the key of the account.
      expect((await send(body, headers, apiKey)).status).toBe(402);
      await base.mint(wallet.address, oneUsd);
      const paid = await send(body, { ...headers, ...(await prove(wallet, body, 'exact')) });
      expect(paid.status).toBe(200);
      expect(paid.headers.has('payment-response')).toBe(true);
      expect(await store.owesForJobs(accountId)).toBe(false);
      expect((await store.checkLedger()).problems).toEqual([]);
      expect(await store.findPaymentOfJob(job.id)).toMatchObject({ accountId, settledAmount: null });
      expect(await read()).toBe(true);
      // It is paid now: a further proof is answered and not settled.
      const spent = await sale.earned();
      const again = await send(body, { ...headers, ...(await prove(wallet, body, 'exact')) });
      expect([again.status, await sale.earned()]).toEqual([200, spent]);
    },
  );

  it('an answer that is withheld is asked for what is owed, and not for what the call may cost', async () => {
    const body = { messages: [{ role: 'user', content: 'How much is the fish?' }], max_tokens: 5_000 };
    const headers = { 'idempotency-key': 'fish' };
    const wallet = await createWallet();
    const { job } = await buyInVain(wallet, body, headers);
    const apiKey = await issueKeyOf(wallet);
    const refused = await send(body, headers, apiKey);
    expect(refused.status).toBe(402);
    const { error } = (await refused.json()) as { error: { code: string; message: string } };
    expect(error.code).toBe('insufficient_balance');
    expect(error.message).toContain(
      `needs $${formatUsd(job.charged)} of balance and the account has $0.00 available`,
    );
    const header = refused.headers.get('payment-required') ?? '';
    const required = JSON.parse(atob(header)) as Challenge['paymentRequired'];
    // The least that is taken for a call.
    expect(required.accepts[0]).toMatchObject({ scheme: 'exact', amount: '10000' });
    await sale.chains.base.mint(wallet.address, oneUsd);
    const terms = { header, body: { x402Version: 1, error: '', accepts: [] } } as unknown as Challenge;
    const { paymentSignature = '' } = await wallet.prove(terms);
    const paid = await send(body, { ...headers, 'payment-signature': paymentSignature }, apiKey);
    expect([paid.status, ((await paid.json()) as { id: string }).id]).toEqual([200, `chatcmpl-${job.id}`]);
    expect((await accountOf(wallet)).available).toBe(parseUsd('0.01') - job.charged);
  });

  it('a response that is withheld tells truly how it is paid where its call had no idempotency key', async () => {
    const wallet = await createWallet();
    const { job } = await buyInVain(wallet, { input: 'Without a key.', max_output_tokens: 20 });
    const apiKey = await issueKeyOf(wallet);
    const read = () => sale.gateway.call(`/v1/responses/resp_${job.id}`, { apiKey });
    const withheld = await read();
    expect(withheld.status).toBe(409);
    const { error } = (await withheld.json()) as { error: { message: string } };
    expect(error.message).toContain(`the account owes $${formatUsd(job.charged)}`);
    expect(error.message).not.toContain('Idempotency-Key');
    await sale.chains.base.mint(wallet.address, oneUsd);
    expect((await send(chat, await prove(wallet, chat, 'exact'))).status).toBe(200);
    expect((await read()).status).toBe(409);
    expect((await send(chat, await prove(wallet, chat, 'exact'))).status).toBe(200);
    expect((await read()).status).toBe(200);
  });

  it('a known proof is answered with its job under any idempotency key of an account, and pays no other request', async () => {
    const wallet = await createWallet();
    expect((await send(chat, await prove(wallet, chat, 'exact'))).status).toBe(200);
    const apiKey = await issueKeyOf(wallet);
    const ask = (content: string) => ({ ...chat, messages: [{ role: 'user', content }] });
    const [one, two] = [ask('The one.'), ask('The other.')];
    const under = (key: string) => ({ 'idempotency-key': key });
    const proof = await prove(wallet, one, 'exact');
    const idOf = async (answer: Response): Promise<unknown> => ((await answer.json()) as { id?: string }).id;
    const id = await idOf(await send(one, { ...under('paid'), ...proof }, apiKey));
    const twin = await idOf(await send(one, under('twin'), apiKey));
    const other = await idOf(await send(two, under('other'), apiKey));
    expect(new Set([id, twin, other]).size).toBe(3);
    for (const key of ['paid', 'twin', 'other', 'fresh']) {
      const known = await send(one, { ...under(key), ...proof }, apiKey);
      expect([key, known.status, await idOf(known)]).toEqual([key, 200, id]);
      const wrong = await send(two, { ...under(key), ...proof }, apiKey);
      expect([key, wrong.status, await wrong.json()]).toMatchObject([
        key,
        409,
        { error: { code: 'payment_conflict' } },
      ]);
    }
    // A payment that came without the API key, and a new proof, change nothing: the key decides.
    const three = ask('The third.');
    const without = { ...under('without'), ...(await prove(wallet, three, 'exact')) };
    const third = await idOf(await send(three, without));
    expect(await idOf(await send(three, without, apiKey))).toBe(third);
    const earned = await sale.earned();
    const fresh = await send(one, { ...under('other'), ...(await prove(wallet, one, 'exact')) }, apiKey);
    expect([fresh.status, await fresh.json()]).toMatchObject([
      409,
      { error: { code: 'idempotency_conflict' } },
    ]);
    expect(await idOf(await send(one, { ...under('twin'), 'payment-signature': 'none' }, apiKey))).toBe(twin);
    expect(await sale.earned()).toBe(earned);
    const { jobs, paid } = await booksOf(wallet);
    expect([jobs.length, paid.length]).toEqual([5, 3]);
  });

  it('a failed payment closes payments after the work to its payer and its network, and to nobody else', async () => {
    const question = { ...chat, messages: [{ role: 'user', content: 'Twice from one house.' }] };
    const from = (address: string) => ({ 'x-forwarded-for': address });
    const wallet = await createWallet();
    expect((await buyInVain(wallet, question, from('2001:db8:1:2::3'))).status).toBe(402);
    const answerFrom = async (address: string): Promise<unknown[]> => {
      const proof = await prove(await createWallet(), question);
      const answer = await send(question, { ...proof, ...from(address) });
      return [answer.status, ((await answer.json()) as { error?: string }).error];
    };
    expect(await answerFrom('2001:db8:1:2::4')).toEqual([402, 'upto_not_trusted']);
    expect((await answerFrom('2001:db8:1:3::3'))[0]).toBe(200);
  });
});

afterAll(() => database?.drop());
