import { Challenge, Credential, Receipt } from 'mppx';
import { evm, Mppx } from 'mppx/client';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import { searchPrice, startPaidSearch, type PaidSearch } from './start-paid-search.ts';
import { startTestGateway } from './start-test-gateway.ts';

let search: PaidSearch;
beforeAll(async () => {
  search = await startPaidSearch({ environment: { X402_MPP: 'on', WALLET_ACCOUNTS: 'on' } });
});
afterAll(() => search?.stop());

const path = '/v1/search?limit=3';

/** The public client of MPP, unmodified, with the local buyer's key. */
const createClient = () => {
  const { base } = search.chains;
  return Mppx.create({
    polyfill: false,
    methods: [
      evm({
        account: privateKeyToAccount(base.buyer.privateKey),
        currencies: [evm.assets.baseSepolia.USDC],
        maxAmount: '1',
      }),
    ],
  });
};

const chat = { messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 20, stream: true };

/** A request of the client, which pays what it is asked for. */
const post = (target: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
  createClient().fetch(search.gateway.url + target, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

const get = (target: string, headers: Record<string, string> = {}): Promise<Response> =>
  search.gateway.call(target, { apiKey: null, headers });

/** A credential for the search, which the client signs for a challenge of its own. */
const sign = async (headers: Record<string, string> = {}): Promise<string> =>
  createClient().createCredential(await get(path, headers));

/** The same credential with changed parts, as JSON has them. */
const change = (credential: string, { challenge = {}, payload = {} }: Record<string, object>): string => {
  const contents = JSON.parse(Buffer.from(credential.slice('Payment '.length), 'base64url').toString());
  const changed = {
    ...contents,
    challenge: { ...contents.challenge, ...challenge },
    payload: { ...contents.payload, ...payload },
  };
  return `Payment ${Buffer.from(JSON.stringify(changed)).toString('base64url')}`;
};

describe('the public client of MPP', () => {
  it.each(['/', '/llms.txt', '/openapi.json'])('is told of MPP at %s', async (page) => {
    expect(await (await get(page)).text()).toMatch(/MPP is taken beside x402|x402 or MPP/);
  });

  it('pays for a search by itself, and reads its receipt', async () => {
    let response = new Response();
    const charged = await search.charged(async () => {
      response = await createClient().fetch(`${search.gateway.url}${path}`);
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ results: expect.any(Array), count: 3 });
    expect(charged).toBe(searchPrice);
    const settled = JSON.parse(
      Buffer.from(response.headers.get('payment-response') ?? '', 'base64').toString(),
    );
    expect(Receipt.fromResponse(response)).toMatchObject({
      method: 'evm',
      reference: settled.transaction,
      chainId: 84_532,
    });
  });

  it('is offered the network with ERC-3009 alone, beside the terms of x402', async () => {
    const response = await get(path);
    const [challenge, ...others] = Challenge.fromResponseList(response);
    expect(others).toEqual([]);
    expect(challenge).toMatchObject({
      realm: new URL(search.gateway.url).host,
      request: { amount: String(searchPrice), methodDetails: { chainId: 84_532 } },
    });
    expect(response.headers.get('content-type')).toContain('application/json');
    expect(await response.json()).toMatchObject({ x402Version: 1, error: 'Payment required' });
    expect(response.headers.get('payment-required')).not.toBeNull();
  });

  it('is offered the same by HEAD, which buys nothing', async () => {
    const headers = { authorization: await sign() };
    const response = await search.gateway.call(path, { apiKey: null, method: 'HEAD', headers });
    expect(response.status).toBe(402);
    expect(Challenge.fromResponseList(response)).toHaveLength(1);
  });

  it('may do so from a page of any origin', async () => {
    const preflight = await search.gateway.call(path, { apiKey: null, method: 'OPTIONS' });
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Payment-Authorization');
    expect(preflight.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
  });

  it('pays beside a header with a key', async () => {
    const key = { authorization: 'Bearer of-something-else' };
    const charged = await search.charged(async () => {
      const response = await createClient().fetch(`${search.gateway.url}${path}`, { headers: key });
      expect(response.status).toBe(200);
    });
    expect(charged).toBe(searchPrice);
  });

  it.each([
    ['/v1/chat/completions', chat, 'data: [DONE]'],
    ['/v1/images/generations', { model: 'imagemodel-1.0', prompt: 'A causeway' }, '"done"'],
    ['/v1/topup', { amount_usd: '0.50' }, '"0.50"'],
  ])('pays for %s without a key', async (target, body, expected) => {
    const charged = await search.charged(async () => {
      const response = await post(target, body);
      expect(await response.text()).toContain(expected);
      expect(Receipt.fromResponse(response)).toMatchObject({ status: 'success' });
    });
    expect(charged).toBeGreaterThan(0n);
  });

  it('pays for a call that the balance of a key does not cover, beside the key', async () => {
    const { apiKey } = await openAccount(search.gateway.services, { amount: 0n, isSandbox: true });
    const charged = await search.charged(async () => {
      const response = await post('/v1/chat/completions', chat, { authorization: `Bearer ${apiKey}` });
      expect(await response.text()).toContain('data: [DONE]');
      expect(Receipt.fromResponse(response)).toMatchObject({ status: 'success' });
    });
    expect(charged).toBeGreaterThan(0n);
    const balance = await search.gateway.call('/v1/balance', { apiKey });
    expect(Number(((await balance.json()) as { balance_usd: string }).balance_usd)).toBeGreaterThan(0);
  });

  it('gets the job of a payment beside a key again, under an idempotency key of another call, too', async () => {
    const { apiKey } = await openAccount(search.gateway.services, { amount: 0n, isSandbox: true });
    const ask = (content: string, headers: Record<string, string>): Promise<Response> => {
      const body = { ...chat, stream: false, messages: [{ role: 'user', content }] };
      return search.gateway.call('/v1/chat/completions', { apiKey, body, headers });
    };
    const idOf = async (answer: Response): Promise<unknown> => ((await answer.json()) as { id?: string }).id;
    const credential = await createClient().createCredential(await ask('One.', {}));
    const payment = { 'payment-authorization': credential };
    const id = await idOf(await ask('One.', { ...payment, 'idempotency-key': 'one' }));
    expect(id).toMatch(/^chatcmpl-/);
    expect((await ask('Two.', { 'idempotency-key': 'two' })).status).toBe(200);
    expect(await idOf(await ask('One.', { ...payment, 'idempotency-key': 'two' }))).toBe(id);
  });
});

describe('a gateway that does not speak MPP', () => {
  it('offers no challenge, and takes no payment for a key', async () => {
    const gateway = await startTestGateway();
    const headers = { authorization: await sign() };
    const unpaid = await gateway.call(path, { apiKey: null, headers });
    expect([unpaid.status, unpaid.headers.get('www-authenticate')]).toEqual([402, null]);
    expect(unpaid.headers.get('content-type')).toContain('application/json');
    const refused = await gateway.call('/v1/balance', { apiKey: null, headers });
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    await gateway.stop();
  });
});

describe('a credential', () => {
  it('that comes again gets the same answer and receipt, and is charged once', async () => {
    const authorization = await sign();
    const answers: Response[] = [];
    const charged = await search.charged(async () => {
      answers.push(await get(path, { authorization }), await get(path, { authorization }));
    });
    expect(charged).toBe(searchPrice);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const [first, second] = answers.map(({ headers }) => headers);
    expect(second?.get('payment-receipt')).toBe(first?.get('payment-receipt'));
    expect(second?.get('idempotent-replayed')).toBe('true');
    const [body, repeated] = await Promise.all(answers.map((answer) => answer.text()));
    expect(repeated).toBe(body);
  });

  const refusals: [string, string, (credential: string) => [target: string, headers: object]][] = [
    [
      'for another request',
      'invalid-challenge',
      (authorization) => ['/v1/search?limit=4', { authorization }],
    ],
    [
      'in the other header',
      'invalid-challenge',
      (credential) => [path, { 'payment-authorization': credential }],
    ],
    [
      'for a lower price than the offered one',
      'invalid-challenge',
      (credential) => {
        const { request } = Credential.deserialize(credential).challenge;
        const cheap = Buffer.from(JSON.stringify({ ...request, amount: '1' })).toString('base64url');
        return [path, { authorization: change(credential, { challenge: { request: cheap } }) }];
      },
    ],
    [
      'with a later end',
      'invalid-challenge',
      (credential) => {
        const challenge = { expires: '2099-01-01T00:00:00.000Z' };
        return [path, { authorization: change(credential, { challenge }) }];
      },
    ],
    [
      'with another amount in its authorization',
      'verification-failed',
      (credential) => [path, { authorization: change(credential, { payload: { value: '1' } }) }],
    ],
    [
      'with another nonce',
      'verification-failed',
      (credential) => {
        const payload = { nonce: `0x${'00'.repeat(32)}` };
        return [path, { authorization: change(credential, { payload }) }];
      },
    ],
    [
      'whose authorization outlives its challenge',
      'verification-failed',
      (credential) => [
        path,
        { authorization: change(credential, { payload: { validBefore: '4000000000' } }) },
      ],
    ],
    [
      'with a signature that is none',
      'malformed-credential',
      (credential) => [path, { authorization: change(credential, { payload: { signature: '0x' } }) }],
    ],
    ['that is no credential', 'malformed-credential', () => [path, { authorization: 'Payment me' }]],
  ];
  it.each(refusals)(
    '%s is refused: %s, with a new challenge and no charge',
    async (_what, problem, spoil) => {
      const credential = await sign();
      const [target, headers] = spoil(credential);
      const charged = await search.charged(async () => {
        const response = await get(target, { ...headers });
        expect(response.status).toBe(402);
        expect(response.headers.get('content-type')).toBe('application/problem+json');
        expect(await response.json()).toMatchObject({
          type: `https://paymentauth.org/problems/${problem}`,
          status: 402,
          x402Version: 1,
        });
        expect(Challenge.fromResponseList(response)).toHaveLength(1);
        expect(response.headers.get('payment-receipt')).toBeNull();
      });
      expect(charged).toBe(0n);
      // It was not used up.
      expect((await get(path, { authorization: credential })).status).toBe(200);
    },
  );

  it('is no key, and gives no rights', async () => {
    const response = await get('/v1/balance', { authorization: await sign() });
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_api_key' } });
  });
});
