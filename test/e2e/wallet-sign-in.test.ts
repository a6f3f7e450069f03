import { createKeyPairSignerFromBytes, generateKeyPairSigner, getBase58Encoder } from '@solana/kit';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import {
  createSIWxClientExtension,
  createSIWxPayload,
  encodeSIWxHeader,
  wrapFetchWithSIWx,
  type SIWxSigner,
} from '@x402/extensions/sign-in-with-x';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import {
  concatHex,
  getContractAddress,
  numberToHex,
  pad,
  serializeErc6492Signature,
  size,
  toFunctionSelector,
  zeroAddress,
  type Hex,
} from 'viem';
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { answeringContract } from '../chains/answering-contract.ts';
import { read, refusal } from './account-calls.ts';
import { startPaidSearch, type PaidSearch } from './start-paid-search.ts';
import { startTestGateway } from './start-test-gateway.ts';

const path = '/v1/auth/wallet';

let sale: PaidSearch;
beforeAll(async () => {
  sale = await startPaidSearch({ environment: { WALLET_ACCOUNTS: 'on', TRUSTED_PROXY_HOPS: '1' } });
});
afterAll(() => sale.stop());

let addresses = 0;
/** A request from an address of its own, as there are limits for each. */
const ask: typeof fetch = (input, init) => {
  const request = new Request(input, init);
  addresses += 1;
  request.headers.set('x-forwarded-for', `198.51.${addresses >> 8}.${addresses & 255}`);
  return fetch(request);
};

interface SignedIn {
  object: string;
  key: string;
  key_id: string;
  expires_at: string;
  account: { wallet: string; balance_usd: string };
}

interface Challenge {
  accepts: { network: string }[];
  extensions: Record<'sign-in-with-x', Declared> & Record<string, unknown>;
}
type Declared = { info: Parameters<typeof createSIWxPayload>[0]; supportedChains: { chainId: string }[] };

const challengeOf = (response: Response): Challenge => {
  expect(response.status).toBe(402);
  const header = response.headers.get('payment-required') ?? '';
  return JSON.parse(Buffer.from(header, 'base64').toString()) as Challenge;
};

const askChallenge = (address = path, body?: object): Promise<Challenge> =>
  ask(sale.gateway.url + address, {
    method: 'POST',
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  }).then(challengeOf);

const evmChain = 'eip155:84532';
/** The types of the clients know another version of the wallet's library. */
const newSolanaWallet = async () => {
  const signer = await generateKeyPairSigner();
  return signer as unknown as SIWxSigner & { address: string };
};
const newAccount = () => privateKeyToAccount(generatePrivateKey());

/** A message that an EVM wallet signs, changed before it is signed. */
const signed = async (
  changes: Partial<Declared['info']> = {},
  signer: SIWxSigner = newAccount(),
): Promise<object> => {
  const { url } = sale.gateway;
  const { info } = (await askChallenge()).extensions['sign-in-with-x'];
  const changed = { ...info, chainId: evmChain, type: 'eip191' as const, ...changes };
  return createSIWxPayload(changed, signer, changed.uri.startsWith(url) ? url : changed.uri);
};

const send = (message: object, { url = sale.gateway.url, body = {}, headers = {} } = {}): Promise<Response> =>
  ask(url + path, {
    method: 'POST',
    headers: {
      'sign-in-with-x': encodeSIWxHeader(message as never),
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
  });

const signIn = async (
  message: object,
  options?: { url?: string; body?: object; headers?: Record<string, string> },
): Promise<SignedIn> => {
  const response = await send(message, options);
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
  return (await response.json()) as SignedIn;
};

describe('the stock clients', () => {
  it.each(['base', 'solana'] as const)('sign in on %s by the extension', async (chain) => {
    const signer = chain === 'base' ? newAccount() : await newSolanaWallet();
    const client = new x402Client().registerExtension(createSIWxClientExtension({ signers: [signer] }));
    const response = await wrapFetchWithPayment(ask, client)(sale.gateway.url + path, { method: 'POST' });
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const signedIn = (await response.json()) as SignedIn;
    const wallet = chain === 'base' ? `eip155:${signer.address.toLowerCase()}` : `solana:${signer.address}`;
    expect(signedIn).toMatchObject({
      object: 'sign_in',
      key: expect.stringMatching(/^sk_causeway_/),
      account: { wallet, balance_usd: '0.00' },
    });
    expect(Date.parse(signedIn.expires_at) - Date.now()).toBeGreaterThan(23 * 3_600_000);
    expect(await read(sale.gateway, '/v1/balance', signedIn.key)).toMatchObject({ balance_usd: '0.00' });
  });

  it('sign in by wrapFetchWithSIWx', async () => {
    const signer = newAccount();
    const response = await wrapFetchWithSIWx(ask, signer)(sale.gateway.url + path, { method: 'POST' });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      account: { wallet: `eip155:${signer.address.toLowerCase()}` },
    });
  });

  it('get balance for a payment in place of a signed message, and no key', async () => {
    const { base } = sale.chains;
    const signer = privateKeyToAccount(base.buyer.privateKey);
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(signer));
    const response = await wrapFetchWithPayment(ask, client)(sale.gateway.url + path, { method: 'POST' });
    expect(await response.json()).toMatchObject({ amount_usd: '0.10', balance_usd: '0.10' });
    const { account } = await signIn(await signed({}, signer));
    expect(account.balance_usd).toBe('0.10');
  });

  it('top up beside the offer to sign in', async () => {
    const { solana } = sale.chains;
    const secretKey = Uint8Array.from(getBase58Encoder().encode(solana.buyer.secretKeyBase58));
    const signer = await createKeyPairSignerFromBytes(secretKey);
    const { ExactSvmScheme } = await import('@x402/svm/exact/client');
    const client = new x402Client()
      .register('solana:*', new ExactSvmScheme(signer, { rpcUrl: solana.rpcUrl }))
      .registerExtension(createSIWxClientExtension({ signers: [signer as unknown as SIWxSigner] }));
    const response = await wrapFetchWithPayment(ask, client)(`${sale.gateway.url}/v1/topup`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ amount_usd: '0.50' }),
    });
    expect(await response.json()).toMatchObject({ amount_usd: '0.50', balance_usd: '0.50' });
  });
});

describe('a challenge', () => {
  it('is a new one each time, on all networks, beside the terms of a top-up', async () => {
    const topUp = await askChallenge('/v1/topup', { amount_usd: '1.00' });
    const asked = [await askChallenge(), await askChallenge(), topUp];
    const declared = asked.map(({ extensions }) => extensions['sign-in-with-x']);
    expect(new Set(declared.map(({ info }) => info.nonce)).size).toBe(3);
    const networks = asked[0]?.accepts.map(({ network }) => network);
    for (const { info, supportedChains } of declared) {
      expect(info).toMatchObject({
        domain: new URL(sale.gateway.url).host,
        uri: sale.gateway.url + path,
      });
      expect(supportedChains.map(({ chainId }) => chainId)).toEqual(networks);
    }
  });

  it('is limited by the address that asks, as are sign-ins', async () => {
    const statuses: number[] = [];
    while (statuses.at(-1) !== 429 && statuses.length < 200)
      statuses.push((await fetch(sale.gateway.url + path, { method: 'POST' })).status);
    expect(statuses.length).toBeGreaterThan(30);
    expect(new Set(statuses)).toEqual(new Set([402, 429]));
  });

  it('is not of this service without WALLET_ACCOUNTS', async () => {
    const gateway = await startTestGateway();
    onTestFinished(() => gateway.stop());
    const answer = await gateway.call(path, { apiKey: null, body: {} });
    expect(answer.status).toBe(404);
  });
});

describe('a signed message', () => {
  it('is taken as the body, too', async () => {
    const { url } = sale.gateway;
    const answer = await ask(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...(await signed()), expires_in: 60 }),
    });
    expect(answer.status).toBe(200);
    const { expires_at: expiresAt } = (await answer.json()) as SignedIn;
    expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(60_000);
  });

  it('counts once, in all processes on one store', async () => {
    const { gateway } = sale;
    const other = await startTestGateway({
      environment: {
        ...sale.chains.environment,
        WALLET_ACCOUNTS: 'on',
        DATA_DIR: gateway.dataDir,
        PUBLIC_URL: gateway.url,
      },
    });
    onTestFinished(() => other.stop());
    const message = await signed();
    const urls = [gateway.url, other.url, gateway.url, other.url];
    const answers = await Promise.all(urls.map((url) => send(message, { url })));
    expect(answers.map(({ status }) => String(status)).sort()).toEqual(['200', '401', '401', '401']);
    // A challenge of one is answered to the other.
    const { key } = await signIn(await signed(), { url: other.url });
    expect((await gateway.call('/v1/balance', { apiKey: key })).status).toBe(200);
  });

  const later = (ms: number): string => new Date(Date.now() + ms).toISOString();
  it.each([
    ['domain', { domain: 'evil.example', uri: 'http://evil.example/' }],
    ['chainId', { chainId: 'eip155:1' }],
    ['issuedAt', { issuedAt: later(3_600_000) }],
    ['issuedAt', { issuedAt: later(-3_600_000) }],
    ['expirationTime', { expirationTime: later(-1_000) }],
    ['nonce', { nonce: '0123456789abcdef0123456789abcdef0123456789ab' }],
  ])('is refused for its %s', async (field, changes) => {
    const response = await send(await signed(changes));
    expect(response.status).toBe(401);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect(error).toMatchObject({ code: 'invalid_sign_in' });
    expect(error.message).toContain(`${field}:`);
  });

  it.each([
    ['another address', { address: privateKeyToAddress(generatePrivateKey()) }],
    ['another text', { statement: 'Sign in for nothing' }],
    ['another form', { signature: '0x1234' }],
    ['no form', { signature: 'signed' }],
    ['nobody, as the zero address', { address: zeroAddress, signature: `0x${'11'.repeat(64)}1b` }],
  ])('is refused with a signature of %s', async (_name, changes) => {
    const response = await send({ ...(await signed()), ...changes });
    expect(await refusal(response)).toMatchObject({ status: 401, code: 'invalid_sign_in' });
  });

  it.each([
    ['another address', async () => ({ address: (await newSolanaWallet()).address })],
    ['another text', async () => ({ statement: 'Sign in for nothing' })],
    ['no form', async () => ({ signature: '0OIl' })],
  ])('is refused on Solana with a signature of %s', async (_name, change) => {
    const { network } = sale.chains.solana;
    const message = await signed({ chainId: network, type: 'ed25519' }, await newSolanaWallet());
    expect((await send({ ...message, ...(await change()) })).status).toBe(401);
    expect((await send(message)).status).toBe(200);
  });

  it('is refused when it cannot be read', async () => {
    const response = await ask(sale.gateway.url + path, {
      method: 'POST',
      headers: { 'sign-in-with-x': 'no base64!' },
    });
    expect(await refusal(response)).toMatchObject({ status: 401, code: 'invalid_sign_in' });
  });
});

describe('a wallet that is a contract', () => {
  const selector = toFunctionSelector('isValidSignature(bytes32,bytes)');
  /** Agrees to whatever is said to be signed. */
  const agreeing = answeringContract({ [selector]: pad(selector, { dir: 'right', size: 32 }) });
  const refusing = answeringContract({ [selector]: pad('0xffffffff', { dir: 'right', size: 32 }) });
  const message = (address: Hex, signature: Hex = `0x${'11'.repeat(100)}`): Promise<object> =>
    signed({}, { address, signMessage: async () => signature });

  it('is asked on its chain, and is another wallet than a plain one of its address', async () => {
    const { controls } = sale.chains.base;
    const address = privateKeyToAddress(generatePrivateKey());
    expect((await send(await message(address))).status).toBe(401);
    await controls.setCode(address, refusing);
    expect((await send(await message(address))).status).toBe(401);
    await controls.setCode(address, agreeing);
    const { account } = await signIn(await message(address));
    expect(account.wallet).toBe(`${evmChain}:${address.toLowerCase()}`);
  });

  it('is the plain wallet that its payments are of when it only delegates to code (EIP-7702)', async () => {
    const { base } = sale.chains;
    const contract = privateKeyToAddress(generatePrivateKey());
    await base.controls.setCode(contract, agreeing);
    const signer = newAccount();
    await base.controls.setCode(signer.address, concatHex(['0xef0100', contract]));
    await base.mint(signer.address, 100_000n);
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(signer));
    await wrapFetchWithPayment(ask, client)(sale.gateway.url + path, { method: 'POST' });
    const plain = { wallet: `eip155:${signer.address.toLowerCase()}`, balance_usd: '0.10' };
    expect((await signIn(await signed({}, signer))).account).toMatchObject(plain);
    expect((await signIn(await message(signer.address))).account).toMatchObject(plain);
  });

  it('signs in before it is deployed, by the code that deploys it (ERC-6492)', async () => {
    const factory = privateKeyToAddress(generatePrivateKey());
    // CREATE2 with what it is called with, and the salt 0.
    await sale.chains.base.controls.setCode(factory, '0x365f5f375f365f5ff55000');
    // Returns the code behind it.
    const bytecode = concatHex([
      '0x61',
      numberToHex(size(agreeing), { size: 2 }),
      '0x80600a5f395ff3',
      agreeing,
    ]);
    const salt = pad('0x0');
    const address = getContractAddress({ opcode: 'CREATE2', from: factory, salt, bytecode });
    const wrapped = (data: Hex): Hex =>
      serializeErc6492Signature({ address: factory, data, signature: '0x1234' });
    expect((await send(await message(address, wrapped('0x00')))).status).toBe(401);
    const { account } = await signIn(await message(address, wrapped(bytecode)));
    expect(account.wallet).toBe(`${evmChain}:${address.toLowerCase()}`);
  });

  it('may send the same again when the node did not answer', async () => {
    const { controls } = sale.chains.base;
    const address = privateKeyToAddress(generatePrivateKey());
    await controls.setCode(address, agreeing);
    const sent = await message(address);
    controls.inject({ fault: 'error', methods: ['eth_call'] });
    const refused = await send(sent);
    controls.clearFaults();
    expect(await refusal(refused)).toMatchObject({ status: 503, code: 'upstream_unavailable' });
    expect((await send(sent)).status).toBe(200);
  });
});

describe('a key from a sign-in', () => {
  it('reads and ends the keys of its account, and makes none', async () => {
    const { gateway } = sale;
    const signer = newAccount();
    const first = await signIn(await signed({}, signer));
    const second = await signIn(await signed({}, signer));
    const call = (address: string, options: object = {}) =>
      gateway.call(address, { apiKey: second.key, ...options });
    const listed = (await (await call('/v1/keys')).json()) as { data: object[] };
    expect(listed.data).toContainEqual(
      expect.objectContaining({
        id: first.key_id,
        label: 'wallet sign-in',
        created_by: 'wallet',
        expires_at: first.expires_at,
      }),
    );
    expect((await call(`/v1/keys/${first.key_id}`, { method: 'DELETE' })).status).toBe(200);
    expect((await gateway.call('/v1/balance', { apiKey: first.key })).status).toBe(401);
    // A client that still sends the ended key gets the next one.
    const third = await signIn(await signed({}, signer), {
      headers: { authorization: `Bearer ${first.key}` },
    });
    expect(third.key_id).not.toBe(first.key_id);
    for (const address of ['/v1/keys', `/v1/keys/${second.key_id}`])
      expect(await refusal(await call(address, { body: { expires_at: null } }))).toMatchObject({
        status: 403,
        code: 'permission_denied',
      });
  });

  it('is not for a suspended account, and ends with its suspension', async () => {
    const { store } = sale.gateway.services;
    const signer = newAccount();
    const { key } = await signIn(await signed({}, signer));
    const account = await store.findWalletAccount({
      wallet: `eip155:${signer.address.toLowerCase()}`,
      isSandbox: true,
    });
    await store.setAccountStatus({ id: account?.id ?? '', status: 'suspended', now: Date.now() });
    expect(await refusal(await send(await signed({}, signer)))).toMatchObject({
      status: 403,
      code: 'permission_denied',
    });
    expect((await sale.gateway.call('/v1/balance', { apiKey: key })).status).toBe(401);
  });
});
