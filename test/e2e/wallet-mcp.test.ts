import { DatabaseSync } from 'node:sqlite';
import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { createSIWxPayload, type SIWxSigner } from '@x402/extensions/sign-in-with-x';
import { x402Client } from '@x402/fetch';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import pino from 'pino';
import { embeddedStoreFile } from '../../src/store/open-store.ts';
import { clientKinds, type Meta, type TestClient, type ToolResult } from '../mcp/clients.ts';
import { openAccount } from '../mcp/open-account.ts';
import type { ChainName } from '../payments/support/buyer.ts';
import { read } from './account-calls.ts';
import { startPaidSearch, type PaidSearch } from './start-paid-search.ts';

let sale: PaidSearch;
/** An agent that opened its connection without a key. */
let agent: TestClient;
/** All lines of the log. */
const lines: string[] = [];

beforeAll(async () => {
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  sale = await startPaidSearch({ environment: { WALLET_ACCOUNTS: 'on', TRUSTED_PROXY_HOPS: '1' }, log });
  agent = await clientKinds[2]!.connect(`${sale.gateway.url}/mcp`, null);
});
afterAll(async () => {
  await agent?.close();
  await sale.stop();
});

const chains = ['base', 'solana'] as const;

const signerOf = async (chain: ChainName) => {
  const { base, solana } = sale.chains;
  if (chain === 'base') return privateKeyToAccount(base.buyer.privateKey);
  const secretKey = Uint8Array.from(getBase58Encoder().encode(solana.buyer.secretKeyBase58));
  return createKeyPairSignerFromBytes(secretKey);
};

/** Pays the terms of a tool error as a stock client does, and returns the `_meta` with the proof. */
const prove = async (unpaid: ToolResult, chain: ChainName): Promise<Meta> => {
  expect(unpaid.isError).toBe(true);
  const signer = await signerOf(chain);
  const { rpcUrl } = sale.chains.solana;
  const client =
    'signTypedData' in signer
      ? new x402Client().register('eip155:*', new ExactEvmScheme(signer))
      : new x402Client().register('solana:*', new ExactSvmScheme(signer, { rpcUrl }));
  const terms = unpaid._meta['x402/error'] as Parameters<typeof client.createPaymentPayload>[0];
  return { 'x402/payment': await client.createPaymentPayload(terms) };
};

/** Changes the store behind the gateway. */
const write = (sql: string): void => {
  const file = embeddedStoreFile(sale.gateway.services.config.dataDir);
  const database = new DatabaseSync(file, { timeout: 60_000 });
  database.exec(sql);
  database.close();
};

interface Bought {
  meta: Meta;
  result: ToolResult;
  id: string;
}

const buy = async (
  name: string,
  input: Record<string, unknown>,
  chain: ChainName = 'base',
): Promise<Bought> => {
  const meta = await prove(await agent.callTool(name, input), chain);
  const result = await agent.callTool(name, input, { meta });
  expect(result).toMatchObject({ isError: false });
  return { meta, result, id: String(result.structuredContent?.['id']) };
};

const image = (prompt: string) => ({ model: 'imagemodel-1.0', prompt });
const codeOf = ({ structuredContent }: ToolResult): unknown => Object(structuredContent?.['error'])['code'];
const textOf = ({ content }: ToolResult): string => content.map(({ text }) => text ?? '').join('\n');

interface Declared {
  info: Parameters<typeof createSIWxPayload>[0];
  supportedChains: { chainId: string; type: 'eip191' | 'ed25519' }[];
}

/** Signs the challenge of sign_in, as a program around the agent does. */
const signChallenge = async (signer: SIWxSigner, kind: string): Promise<Record<string, unknown>> => {
  const asked = await agent.callTool('sign_in');
  expect(asked.isError).toBe(false);
  expect(asked._meta['x402/error']).toEqual(asked.structuredContent);
  expect(textOf(asked).length).toBeLessThan(250);
  const { info, supportedChains } = Object(asked.structuredContent?.['extensions'])[
    'sign-in-with-x'
  ] as Declared;
  const chain = supportedChains.find(({ chainId }) => chainId.startsWith(kind));
  const payload = await createSIWxPayload({ ...info, ...chain! }, signer, sale.gateway.url);
  return JSON.parse(JSON.stringify(payload)) as Record<string, unknown>;
};

const signIn = async (signer: SIWxSigner, kind = 'eip155'): Promise<{ result: ToolResult; key: string }> => {
  const result = await agent.callTool('sign_in', await signChallenge(signer, kind));
  expect(result).toMatchObject({ isError: false, structuredContent: { object: 'sign_in' } });
  return { result, key: String(result._meta['causeway/key']) };
};
const keyed = (key: string): { meta: Meta } => ({ meta: { 'causeway/key': key } });

describe.each(chains)('a wallet on %s', (chain) => {
  it('buys a film over MCP, reads it with the proof until it is done, and opens it', async () => {
    const input = {
      model: 'videomodel-2.0',
      prompt: `The tide on ${chain}`,
      duration: 4,
      resolution: '480p',
    };
    let film: Bought | undefined;
    const paid = await sale.charged(async () => {
      film = await buy('create_video', input, chain);
      const { meta, id } = film;
      let seen: ToolResult;
      do {
        seen = await agent.callTool('get_video', { video_id: id, wait_ms: 5_000 }, { meta });
        expect(seen.isError).toBe(false);
      } while (seen.structuredContent?.['status'] !== 'completed');
      expect(seen.structuredContent).toMatchObject({ id, usage: { cost_usd: '0.08' } });
      expect(JSON.stringify(seen)).not.toMatch(/balance/i);
      const opened = await fetch(String(seen.structuredContent?.['film_url']));
      expect([opened.status, opened.headers.get('content-type')]).toEqual([200, 'video/mp4']);

      const job = await agent.callTool('get_job', { job_id: id }, { meta });
      expect(job.structuredContent).toMatchObject({ id, status: 'done' });
      const [content] = await agent.readResource(`${sale.gateway.url}/v1/videos/${id}/content`, meta);
      expect(Buffer.from(content?.blob ?? '', 'base64').byteLength).toBeGreaterThan(1_000);
      expect(await agent.readResource(String(seen.structuredContent?.['film_url']), meta)).toHaveLength(1);
      const receipt = await agent.callTool('get_receipt', { receipt_id: id }, { meta });
      expect(receipt.structuredContent).toMatchObject({
        id,
        status: 'charged',
        balance_after_usd: null,
        payment: { job_id: id },
      });
    });
    expect(paid).toBeGreaterThan(0n);
    expect(film?.result.structuredContent).toMatchObject({ status: 'queued' });
  });

  it('signs in over MCP, and reads its balance, jobs and receipts with the key that no model sees', async () => {
    const { id } = await buy('create_image', image(`A pier on ${chain}`), chain);
    const signer = (await signerOf(chain)) as unknown as SIWxSigner & { address: string };
    const { result, key } = await signIn(signer, chain === 'base' ? 'eip155' : 'solana');
    expect(key).toMatch(/^sk_causeway_/);
    expect(JSON.stringify([result.content, result.structuredContent])).not.toContain(key);
    const wallet = chain === 'base' ? `eip155:${signer.address.toLowerCase()}` : `solana:${signer.address}`;
    const { structuredContent } = result;
    expect(structuredContent).toMatchObject({ account: { wallet, balance_usd: expect.any(String) } });
    expect(textOf(result)).toContain(wallet);
    expect(textOf(result)).toContain(String(structuredContent?.['expires_at']));

    const balance = await agent.callTool('get_balance', {}, keyed(key));
    expect(balance.structuredContent).toMatchObject({
      balance_usd: Object(structuredContent?.['account']).balance_usd,
    });
    const jobs = await agent.callTool('list_jobs', {}, keyed(key));
    expect(JSON.stringify(jobs.structuredContent)).toContain(id);
    const receipt = await agent.callTool('get_receipt', { receipt_id: id }, keyed(key));
    expect(receipt.structuredContent).toMatchObject({ id, balance_after_usd: expect.any(String) });
    const [resource] = await agent.readResource(`causeway://jobs/${id}`, keyed(key).meta);
    expect(JSON.parse(resource?.text ?? '')).toMatchObject({ id });
    expect((await agent.listTools(keyed(key).meta)).map(({ name }) => name)).toContain('list_jobs');
    const { data } = Object(await read(sale.gateway, '/v1/purchases', key));
    expect(data.map(({ job_id }: { job_id: unknown }) => job_id)).toContain(id);
  });

  it('reads an image with the proof alone, and nothing of it with the proof of another call', async () => {
    const first = await buy('create_image', image(`One pier on ${chain}`), chain);
    const second = await buy('create_image', image(`Two piers on ${chain}`), chain);
    const url = String(Object(first.result.structuredContent)['data'][0].url);
    for (const uri of [url, `causeway://jobs/${first.id}`]) {
      expect(await agent.readResource(uri, first.meta)).toHaveLength(1);
      await expect(agent.readResource(uri, second.meta)).rejects.toThrow(/not found|did not pay for that/);
      await expect(agent.readResource(uri)).rejects.toThrow('needs an API key');
    }
    const job = await agent.callTool('get_job', { job_id: first.id }, { meta: first.meta });
    expect(job.structuredContent).toMatchObject({ id: first.id, status: 'done' });
    for (const [name, input] of [
      ['get_job', { job_id: first.id }],
      ['get_video', { video_id: first.id }],
      ['get_receipt', { receipt_id: first.id }],
      ['get_response', { response_id: `resp_${first.id}` }],
    ] as const)
      expect([name, codeOf(await agent.callTool(name, input, { meta: second.meta }))]).toEqual([
        name,
        'permission_denied',
      ]);
  });
});

describe('a proof', () => {
  it('reads no balance, no list and no job whose id its sender does not know', async () => {
    const { meta, id, result } = await buy('create_image', image('A lighthouse'));
    for (const name of ['get_balance', 'list_jobs', 'list_transactions', 'get_usage', 'list_models'])
      expect([name, codeOf(await agent.callTool(name, {}, { meta }))]).toEqual([name, 'invalid_api_key']);
    // The chain shows the transaction to everybody, and so the proof. It must not lead to the job.
    const { transaction } = Object(result._meta['x402/payment-response']);
    const receipt = await agent.callTool('get_receipt', { receipt_id: transaction }, { meta });
    expect([receipt.isError, textOf(receipt).includes(id)]).toEqual([true, false]);
  });

  it('of a search or a top-up reads the receipt of its payment', async () => {
    for (const [name, input] of [
      ['search_leads', { query: 'coffee', limit: 1 }],
      ['top_up', { amount_usd: '0.10' }],
    ] as const) {
      const { meta, result } = await buy(name, input);
      const { transaction } = Object(result._meta['x402/payment-response']);
      const receipt = await agent.callTool('get_receipt', { receipt_id: transaction }, { meta });
      expect(receipt.structuredContent).toMatchObject({
        type: 'payment',
        status: 'paid',
        balance_after_usd: null,
        payment: { transaction },
      });
      const other = await buy('top_up', { amount_usd: '0.20' });
      const refused = await agent.callTool('get_receipt', { receipt_id: transaction }, other);
      expect(codeOf(refused)).toBe('permission_denied');
    }
  });

  it('that is not settled, or was changed, reads nothing and settles nothing', async () => {
    const { id, meta } = await buy('create_image', image('A harbour'));
    const unsent = await prove(await agent.callTool('create_image', image('Another harbour')), 'base');
    const proof = structuredClone(meta['x402/payment']) as { payload: { signature: string } };
    proof.payload.signature = `0x${'12'.repeat(65)}`;
    const paid = await sale.charged(async () => {
      for (const wrong of [unsent, { 'x402/payment': proof }, { 'x402/payment': 'nonsense' }]) {
        const refused = await agent.callTool('get_job', { job_id: id }, { meta: wrong });
        expect([refused.isError, codeOf(refused)]).toEqual([true, 'invalid_payment']);
        await expect(agent.readResource(`causeway://jobs/${id}`, wrong)).rejects.toThrow(
          /proof (has paid for nothing|cannot be read)/,
        );
      }
    });
    expect(paid).toBe(0n);
  });

  it.each([
    ["state = 'failed'", 'invalid_payment'],
    ["state = 'unknown'", 'payment_pending'],
    ["state = 'produced'", 'payment_in_progress'],
    ['refunded = 1', 'payment_conflict'],
    ["state = 'delivered', updated_at = updated_at - 86500000", 'payment_conflict'],
  ])('whose payment is at %s reads nothing: %s', async (change, code) => {
    const { id, meta } = await buy('create_image', image(`A quay at ${change}`));
    write(`update payments set ${change} where job_id = '${id}'`);
    expect(codeOf(await agent.callTool('get_job', { job_id: id }, { meta }))).toBe(code);
    await expect(agent.readResource(`causeway://jobs/${id}`, meta)).rejects.toThrow(/payment/);
  });

  it('does not show an answer that is withheld, as its own payment failed', async () => {
    const { id, meta } = await buy('create_response', { input: 'Say hello.', max_output_tokens: 20 });
    const jobId = id.replace('resp_', '');
    const read = () => agent.callTool('get_job', { job_id: id }, { meta });
    expect((await read()).structuredContent).toHaveProperty('response');
    const response = await agent.callTool('get_response', { response_id: id }, { meta });
    expect(response.structuredContent).toMatchObject({ id });
    write(`update holds set payment = 'another payment', debited = 0 where job_id = '${jobId}'`);
    expect((await read()).structuredContent).not.toHaveProperty('response');
    const withheld = await agent.callTool('get_response', { response_id: id }, { meta });
    expect(codeOf(withheld)).toBe('payment_in_progress');
  });

  it('reads nothing when the account of its wallet is suspended', async () => {
    const signer = privateKeyToAccount(generatePrivateKey());
    await sale.chains.base.mint(signer.address, 1_000_000n);
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(signer));
    const unpaid = await agent.callTool('create_image', image('A mole'));
    const meta = {
      'x402/payment': await client.createPaymentPayload(unpaid._meta['x402/error'] as never),
    };
    const made = await agent.callTool('create_image', image('A mole'), { meta });
    const input = { job_id: String(made.structuredContent?.['id']) };
    expect((await agent.callTool('get_job', input, { meta })).isError).toBe(false);
    const { store, clock } = sale.gateway.services;
    const wallet = `eip155:${signer.address.toLowerCase()}`;
    const account = await store.findWalletAccount({ wallet, isSandbox: true });
    await store.setAccountStatus({ id: account!.id, status: 'suspended', now: clock.now() });
    expect(codeOf(await agent.callTool('get_job', input, { meta }))).toBe('permission_denied');
  });
});

describe('a key in _meta', () => {
  const newWallet = () => privateKeyToAccount(generatePrivateKey());

  it.each(clientKinds)(
    'is taken from $name, is checked on every call, and is never in the log',
    async (kind) => {
      const { key } = await signIn(newWallet());
      for (const path of ['/mcp', '/mcp/generation']) {
        const client = await kind.connect(sale.gateway.url + path, null);
        const balance = await client.callTool('get_balance', {}, keyed(key));
        expect(balance.structuredContent).toMatchObject({ balance_usd: '0.00' });
        expect(codeOf(await client.callTool('get_balance'))).toBe('invalid_api_key');
        await client.close();
      }
      const { store, clock } = sale.gateway.services;
      const listed = await read(sale.gateway, '/v1/keys', key);
      const [{ id }] = Object(listed)['data'];
      await store.revokeKey({ id, now: clock.now() });
      const client = await kind.connect(`${sale.gateway.url}/mcp`, null);
      for (const wrong of [key, 'sk_causeway_wrong', '', 7, { key }]) {
        const refused = await client.callTool('get_balance', {}, { meta: { 'causeway/key': wrong } });
        expect([refused.isError, codeOf(refused)]).toEqual([true, 'invalid_api_key']);
        expect(JSON.stringify(refused)).not.toContain(key);
      }
      await client.close();
      expect(lines.length).toBeGreaterThan(0);
      expect(lines.filter((line) => line.includes(key))).toEqual([]);
    },
  );

  it('is not in the log of a message that cannot be read either', async () => {
    const { key } = await signIn(newWallet());
    const _meta = { 'causeway/key': key };
    for (const message of [
      { method: 'tools/call', params: { name: 7, _meta } },
      { method: 'tools/call', params: { name: 'get_balance', arguments: [], _meta } },
      { method: 'unknown/method', params: { _meta } },
      { method: 'tools/list', params: { cursor: 1, _meta } },
      { method: 'resources/read', params: { uri: 'causeway://jobs/none', _meta } },
      { method: 'tools/call', params: { name: 'none', _meta: { 'causeway/key': { key } } } },
    ]) {
      const answer = await sale.gateway.call('/mcp', {
        apiKey: null,
        body: { jsonrpc: '2.0', id: 1, ...message },
        headers: { accept: 'application/json, text/event-stream' },
      });
      expect(await answer.text()).not.toContain(key);
    }
    expect(lines.filter((line) => line.includes(key))).toEqual([]);
  });

  it('of one wallet reads nothing of another', async () => {
    const { id } = await buy('create_image', image('A jetty'));
    const { key } = await signIn(newWallet());
    expect(codeOf(await agent.callTool('get_job', { job_id: id }, keyed(key)))).toBe('job_not_found');
    expect(codeOf(await agent.callTool('get_receipt', { receipt_id: id }, keyed(key)))).toBe('not_found');
    await expect(agent.readResource(`causeway://jobs/${id}`, keyed(key).meta)).rejects.toThrow('not found');
  });

  it('is refused beside a key in the header, at /mcp and at /mcp/account, whichever they are', async () => {
    const { key } = await signIn(newWallet());
    const { apiKey } = await openAccount(sale.gateway.services);
    for (const path of ['/mcp', '/mcp/account']) {
      const client = await clientKinds[0]!.connect(sale.gateway.url + path, apiKey);
      for (const sent of [key, apiKey]) {
        const refused = await client.callTool('get_balance', {}, keyed(sent));
        expect([path, codeOf(refused)]).toEqual([path, 'invalid_parameter']);
      }
      expect((await client.listTools()).map(({ name }) => name)).not.toContain('sign_in');
      expect(codeOf(await client.callTool('sign_in'))).toBe('permission_denied');
      await client.close();
    }
  });
});

describe('sign_in', () => {
  it('takes a signed message once, and no payment', async () => {
    const signed = await signChallenge(privateKeyToAccount(generatePrivateKey()), 'eip155');
    expect((await agent.callTool('sign_in', signed)).isError).toBe(false);
    const again = await agent.callTool('sign_in', signed);
    expect([codeOf(again), textOf(again)]).toEqual([
      'invalid_sign_in',
      expect.stringContaining('Ask sign_in for a new challenge'),
    ]);
    const meta = await prove(await agent.callTool('top_up', { amount_usd: '0.10' }), 'base');
    const paid = await sale.charged(async () => {
      const taken = { isError: false, structuredContent: { accepts: [] } };
      expect(await agent.callTool('sign_in', {}, { meta })).toMatchObject(taken);
    });
    expect(paid).toBe(0n);
  });

  it('and the tools that read are in the list without a key, whose instructions say how to read', async () => {
    // A client keeps the list for a while, whatever the key.
    const visitor = await clientKinds[2]!.connect(`${sale.gateway.url}/mcp`, null);
    const names = (await visitor.listTools()).map(({ name }) => name);
    await visitor.close();
    expect(names).toEqual(expect.arrayContaining(['sign_in', 'get_job', 'get_video', 'get_receipt']));
    expect(agent.instructions()).toContain(
      'call sign_in, whose key the client sends in _meta["causeway/key"]',
    );
    const searching = await clientKinds[2]!.connect(`${sale.gateway.url}/mcp/search`, null);
    expect(searching.instructions()).not.toMatch(/sign_in|get_job|is balance/);
    await searching.close();
    const needsKey = await agent.callTool('get_job', { job_id: 'x' });
    expect(textOf(needsKey)).toContain('the proof that paid for what it reads');
  });
});
