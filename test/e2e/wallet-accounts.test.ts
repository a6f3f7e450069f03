import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { newId } from '../../src/kit/ids.ts';
import { formatUsd, parseUsd } from '../../src/kit/money.ts';
import { noLimits, type KeyLimits } from '../../src/rules/key-limits.ts';
import { StoreError } from '../../src/store/store-error.ts';
import type { WalletAccount } from '../../src/store/store.ts';
import type { ChainName } from '../payments/support/buyer.ts';
import { startPaidSearch, type PaidSearch } from './start-paid-search.ts';
import { issueKey } from '../../src/accounts/keys.ts';

let sale: PaidSearch;
beforeAll(async () => {
  sale = await startPaidSearch({ environment: { WALLET_ACCOUNTS: 'on' } });
});
afterAll(() => sale.stop());

const clientOf = async (chain: ChainName): Promise<x402Client> => {
  const { base, solana } = sale.chains;
  if (chain === 'base')
    return new x402Client().register(
      'eip155:*',
      new ExactEvmScheme(privateKeyToAccount(base.buyer.privateKey)),
    );
  const secretKey = Uint8Array.from(getBase58Encoder().encode(solana.buyer.secretKeyBase58));
  const signer = await createKeyPairSignerFromBytes(secretKey);
  return new x402Client().register('solana:*', new ExactSvmScheme(signer, { rpcUrl: solana.rpcUrl }));
};

/** Keeps the last proof that the stock client sent. */
let lastProof: string | null;
const watched: typeof fetch = async (input, init) => {
  const request = new Request(input, init);
  lastProof = request.headers.get('payment-signature') ?? lastProof;
  return fetch(request);
};

const post = (body: object, headers: Record<string, string> = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

const pay = async (
  path: string,
  body: object,
  { chain = 'base', headers = {} }: { chain?: ChainName; headers?: Record<string, string> } = {},
): Promise<Response> => {
  const paying = wrapFetchWithPayment(watched, await clientOf(chain));
  return paying(sale.gateway.url + path, post(body, headers));
};

/** Signs a payment for a call, and does not send it. */
const sign = async (path: string, body: object, headers: Record<string, string> = {}) => {
  let proof = '';
  const signing = wrapFetchWithPayment(
    async (input, init) => {
      const request = new Request(input, init);
      proof = request.headers.get('payment-signature') ?? '';
      return proof === '' ? fetch(request) : Response.json({});
    },
    await clientOf('base'),
  );
  await signing(sale.gateway.url + path, post(body, headers));
  return { 'payment-signature': proof };
};

const walletOn = async (chain: ChainName): Promise<WalletAccount | null> => {
  const { base, solana } = sale.chains;
  const wallet =
    chain === 'base' ? `eip155:${base.buyer.address.toLowerCase()}` : `solana:${solana.buyer.address}`;
  return sale.gateway.services.store.findWalletAccount({ wallet, isSandbox: true });
};
const balanceOn = async (chain: ChainName): Promise<string> =>
  formatUsd((await walletOn(chain))?.available ?? 0n);

/** In the token's smallest unit, a millionth of a dollar. */
const charged = (work: () => Promise<unknown>): Promise<bigint> =>
  sale.charged(async () => {
    await work();
  });

const chat = { messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 20 };
const textCalls: [path: string, body: object][] = [
  ['/v1/chat/completions', chat],
  ['/v1/responses', { input: 'Say hello.', max_output_tokens: 20 }],
];

describe.each(['base', 'solana'] as const)('a wallet on %s', (chain) => {
  it('tops up its own account', async () => {
    const before = await walletOn(chain);
    expect(before).toBeNull();
    const paid = await charged(async () => {
      const answer = await pay('/v1/topup', { amount_usd: '0.50' }, { chain });
      expect([answer.status, await answer.json()]).toEqual([
        200,
        {
          object: 'topup',
          amount_usd: '0.50',
          balance_usd: '0.50',
          receipt_url: expect.stringContaining(`${sale.gateway.url}/v1/receipts/`),
        },
      ]);
    });
    expect(paid).toBe(500_000n);
    expect(await balanceOn(chain)).toBe('0.50');
    const repeated = await sale.gateway.call('/v1/topup', {
      apiKey: null,
      body: { amount_usd: '0.50' },
      headers: { 'payment-signature': lastProof ?? '' },
    });
    expect(await repeated.json()).toEqual({
      object: 'topup',
      amount_usd: '0.50',
      receipt_url: expect.any(String),
    });
  });

  it('pays for a chat, and keeps what the chat did not use', async () => {
    let answer: Response | undefined;
    const paid = await charged(async () => {
      answer = await pay('/v1/chat/completions', chat, { chain });
    });
    expect(answer?.status).toBe(200);
    expect(answer?.headers.has('payment-response')).toBe(true);
    const cost = Number(answer?.headers.get('x-causeway-charge-usd'));
    expect(cost).toBeGreaterThan(0);
    const kept = Number(await balanceOn(chain)) - 0.5;
    expect(kept + cost).toBeCloseTo(Number(paid) / 1e6, 9);
  });

  it('gets the same answer for the same proof, and pays once', async () => {
    const image = { model: 'imagemodel-1.0', prompt: 'A causeway at low tide' };
    const first = await pay('/v1/images/generations', image, { chain });
    const made = (await first.json()) as { id: string };
    const balance = await balanceOn(chain);
    const again = await charged(async () => {
      const repeated = await sale.gateway.call('/v1/images/generations', {
        apiKey: null,
        body: image,
        headers: { 'payment-signature': lastProof ?? '' },
      });
      expect(await repeated.json()).toMatchObject({ id: made.id });
      expect(repeated.headers.get('idempotent-replayed')).toBe('true');
    });
    expect([again, await balanceOn(chain)]).toEqual([0n, balance]);
  });
});

it('tells the price of a call and how it comes about before it is paid', async () => {
  const unpaid = await sale.gateway.call('/v1/chat/completions', { apiKey: null, body: chat });
  expect(unpaid.status).toBe(402);
  expect(await unpaid.json()).toMatchObject({
    error: 'Payment required',
    quote: { model: 'textmodel-3.5-flash', most_output_tokens: 20, pricing: { unit: 'token' } },
  });
  const open = await sale.gateway.call('/v1/chat/completions', {
    apiKey: null,
    body: { messages: chat.messages },
  });
  const { x402 } = (await open.json()) as { x402: { amount: string } };
  expect(Number(x402.amount)).toBeLessThanOrEqual(1);
});

it('a failed job is balance again', async () => {
  const before = Number(await balanceOn('base'));
  const paid = await charged(() =>
    pay('/v1/images/generations', { model: 'imagemodel-1.0', prompt: '[sandbox:fail]' }),
  );
  expect(paid).toBeGreaterThan(0n);
  expect(Number(await balanceOn('base')) - before).toBeCloseTo(Number(paid) / 1e6, 9);
});

it('one proof, and one key of the client, get one job, which is paid once', async () => {
  const image = { model: 'imagemodel-1.0', prompt: 'A causeway by night' };
  const headers = { 'idempotency-key': 'night-1' };
  const made = (await (await pay('/v1/images/generations', image, { headers })).json()) as { id: string };
  const proof = lastProof ?? '';
  const paid = await charged(async () => {
    const fresh = await pay('/v1/images/generations', image, { headers });
    expect([fresh.status, await fresh.json()]).toMatchObject([200, { id: made.id }]);
    const repeated = await sale.gateway.call('/v1/images/generations', {
      apiKey: null,
      body: image,
      headers: { 'payment-signature': proof },
    });
    const body = (await repeated.json()) as { id: string; usage: object };
    expect(body.id).toBe(made.id);
    expect(body.usage).not.toHaveProperty('balance_remaining_usd');
    expect(repeated.headers.has('x-causeway-balance-usd')).toBe(false);
  });
  expect(paid).toBe(0n);
});

it.each([
  ['/v1/images/generations', { image: 'data:image/png;base64,AAAA' }],
  ['/v1/images/generations', { image: ['https://10.0.0.1/x.png'] }],
  ['/v1/images/generations', { image: 'ftp://example.com/x.png' }],
  ['/v1/videos', { model: 'videomodel-2.0', image_url: 'https://10.0.0.1/x.png' }],
  [
    '/v1/chat/completions',
    {
      model: 'textmodel-3.5-flash',
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://10.0.0.1/x.png' } }] },
      ],
    },
  ],
])('an input that cannot be read costs nothing: %s %j', async (path, body) => {
  const paid = await charged(async () => {
    const refused = await pay(path, { model: 'imagemodel-1.0', prompt: 'The tide', ...body });
    expect([refused.status, await refused.json()]).toMatchObject([
      422,
      { error: { code: 'invalid_parameter' } },
    ]);
  });
  expect(paid).toBe(0n);
});

it.each([
  ['/v1/images/generations', { model: 'imagemodel-1.0', ratio: '9:16' }, 'ratio', 'aspect_ratio'],
  ['/v1/videos', { model: 'videomodel-2.0', seconds: 12 }, 'seconds', 'duration'],
])(
  'a field that is not known at %s is refused before the call is priced or paid: %j',
  async (...[path, slip, field, meant]) => {
    const { model } = slip;
    const refusal = [
      422,
      {
        error: {
          code: 'invalid_parameter',
          param: field,
          message: expect.stringContaining(`did you mean ${meant}?`),
        },
      },
    ];
    const answerTo = async (body: object, headers = {}): Promise<unknown[]> => {
      const answer = await sale.gateway.call(path, { apiKey: null, body, headers });
      return [answer.status, await answer.json()];
    };
    const fine = { model, prompt: 'The tide comes in' };
    const headers = await sign(path, fine);
    const paid = await charged(async () => {
      expect(await answerTo({ ...fine, ...slip })).toMatchObject(refusal);
      expect(await answerTo({ ...fine, ...slip }, headers)).toMatchObject(refusal);
    });
    expect(paid).toBe(0n);
    expect(await charged(() => answerTo(fine, headers))).toBeGreaterThan(0n);
  },
);

it('a payment whose picture turns out to be missing is balance, and its proof is of no more use', async () => {
  const body = { model: 'imagemodel-1.0', prompt: 'The tide', image: 'https://nowhere.invalid/x.png' };
  const failed = await pay('/v1/images/generations', body);
  expect([failed.status, failed.headers.has('payment-response')]).toEqual([422, true]);
  const { error } = (await failed.json()) as { error: { message: string } };
  expect(error.message).toMatch(/address\. The payment of \$\S+ is settled, .* which a sign-in opens\.$/);
});

it('a stream has the receipt in its headers', async () => {
  const answer = await pay('/v1/chat/completions', { ...chat, stream: true });
  expect(answer.headers.get('content-type')).toContain('text/event-stream');
  expect(answer.headers.has('payment-response')).toBe(true);
  expect(await answer.text()).toContain('data: [DONE]');
});

it('a call with a key is charged to its account, and a payment with a key tops that account up', async () => {
  const { apiKey, services } = sale.gateway;
  const balance = async (): Promise<number> => {
    const answer = await sale.gateway.call('/v1/balance');
    return Number(((await answer.json()) as { balance_usd: string }).balance_usd);
  };
  const before = await balance();
  const headers = { authorization: `Bearer ${apiKey}` };
  const body = { amount_usd: '1' };
  let topUp = {};
  const paid = await charged(async () => {
    topUp = (await (await pay('/v1/topup', body, { headers })).json()) as object;
  });
  expect(paid).toBe(1_000_000n);
  expect(topUp).toMatchObject({ balance_usd: formatUsd(parseUsd(String(before)) + parseUsd('1')) });
  const proof = { 'payment-signature': lastProof ?? '' };
  expect(await (await sale.gateway.call('/v1/topup', { body, headers: proof })).json()).toEqual(topUp);
  const { receipt_url: address } = topUp as { receipt_url: string };
  expect(await (await fetch(address, { headers })).json()).toMatchObject({
    type: 'payment',
    payment: { credit_usd: '1.00' },
  });
  expect(await balance()).toBeCloseTo(before + 1, 9);
  expect((await sale.gateway.call('/v1/chat/completions', { body: chat })).status).toBe(200);
  expect((await services.store.checkLedger()).problems).toEqual([]);
});

it('a call that fails after its payment is made for the same proof later, and is paid once', async () => {
  const { store } = sale.gateway.services;
  const open = vi
    .spyOn(store, 'openJob')
    .mockRejectedValueOnce(new StoreError('unavailable', 'the store is away'));
  const question = { ...chat, messages: [{ role: 'user', content: 'What is a causeway?' }] };
  const paid = await charged(async () => {
    const failed = await pay('/v1/chat/completions', question);
    expect(failed.status).toBe(503);
    expect(failed.headers.has('payment-response')).toBe(true);
    const repeated = await sale.gateway.call('/v1/chat/completions', {
      apiKey: null,
      body: question,
      headers: { 'payment-signature': lastProof ?? '' },
    });
    expect(repeated.status).toBe(200);
  });
  open.mockRestore();
  const { x402 } = (await (
    await sale.gateway.call('/v1/chat/completions', { apiKey: null, body: question })
  ).json()) as { x402: { amount: string } };
  expect(Number(paid) / 1e6).toBeCloseTo(Number(x402.amount), 9);
});

const openPoorAccount = async (): Promise<string> => {
  const { store, clock } = sale.gateway.services;
  const id = newId();
  await store.createAccount({ id, name: 'poor', status: 'active', isSandbox: true, now: clock.now() });
  return id;
};
const keyOf = async (accountId: string, limits: Partial<KeyLimits> = {}): Promise<string> => {
  const own = { accountId, label: '', brand: 'causeway', limits: { ...noLimits, ...limits } };
  const issued = await issueKey(sale.gateway.services, own);
  return issued.outcome === 'issued' ? issued.key : issued.outcome;
};

it('a key without enough balance is told the terms, and its payment runs the call', async () => {
  const accountId = await openPoorAccount();
  const apiKey = await keyOf(accountId);
  const headers = { authorization: `Bearer ${apiKey}` };
  const refused = await sale.gateway.call('/v1/chat/completions', { apiKey, body: chat });
  expect([refused.status, refused.headers.has('payment-required')]).toEqual([402, true]);
  expect(await refused.json()).toMatchObject({ error: { code: 'insufficient_balance' } });
  // Its price is not known before the referenced clip is read.
  const clip = {
    type: 'video_url',
    video_url: { url: 'https://example.com/a.mp4' },
    role: 'reference_video',
  };
  const video = { model: 'videomodel-2.0', content: [{ type: 'text', text: 'The tide' }, clip] };
  const unpriced = await sale.gateway.call('/v1/videos', { apiKey, body: video });
  expect([unpriced.status, unpriced.headers.has('payment-required')]).toEqual([402, false]);
  expect(await unpriced.json()).toMatchObject({ error: { code: 'insufficient_balance' } });
  const answer = await pay('/v1/chat/completions', chat, { headers });
  expect(answer.status).toBe(200);
  const jobs = sale.gateway.services.store.listJobs({ accountId, before: null, limit: 2 });
  expect(await jobs).toHaveLength(1);
});

it.each([
  ['/v1/images/generations', { model: 'imagemodel-1.0', prompt: 'The tide' }],
  ['/v1/videos', { model: 'videomodel-2.0', prompt: 'The tide' }],
  ...textCalls,
])('a call of %s beyond the budget of its key is told no terms, and takes no payment', async (path, body) => {
  const accountId = await openPoorAccount();
  const [apiKey, unlimited] = [await keyOf(accountId, { budgetDay: 1n }), await keyOf(accountId)];
  const answerTo = async (headers = {}): Promise<unknown[]> => {
    const answer = await sale.gateway.call(path, { apiKey, body, headers });
    return [answer.status, answer.headers.has('payment-required'), await answer.json()];
  };
  const refusal = [402, false, { error: { code: 'insufficient_balance', param: 'budget_day_usd' } }];
  expect(await answerTo()).toMatchObject(refusal);
  const proof = await sign(path, body, { authorization: `Bearer ${unlimited}` });
  expect(await charged(async () => expect(await answerTo(proof)).toMatchObject(refusal))).toBe(0n);
});

it.each(textCalls)('%s is not paid by a wallet whose own terms have no such model', async (path, body) => {
  const { store } = sale.gateway.services;
  const id = (await walletOn('base'))?.id ?? '';
  await store.setAccountTerms({ id, terms: JSON.stringify({ models: ['imagemodel-1.0'] }) });
  const paid = await charged(async () => {
    const refused = await pay(path, body);
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { code: 'model_not_found', param: 'model' } },
    ]);
  });
  expect(paid).toBe(0n);
  await store.setAccountTerms({ id, terms: null });
});

it('the account of a wallet that is suspended takes no payment', async () => {
  const { store, clock } = sale.gateway.services;
  const id = (await walletOn('base'))?.id ?? '';
  await store.setAccountStatus({ id, status: 'suspended', now: clock.now() });
  const paid = await charged(async () => {
    const refused = await pay('/v1/topup', { amount_usd: '0.50' });
    expect(refused.status).toBe(403);
  });
  expect(paid).toBe(0n);
  await store.setAccountStatus({ id, status: 'active', now: clock.now() });
});
