import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { bytesToHex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startPaidSearch, type PaidSearch } from './start-paid-search.ts';

/** An agent that has a wallet, no x402 client, and has read nothing but `/llms.txt`. */
const wallet = privateKeyToAccount(generatePrivateKey());

let sale: PaidSearch;
let page: string;
beforeAll(async () => {
  sale = await startPaidSearch({ environment: { WALLET_ACCOUNTS: 'on' } });
  await sale.chains.base.mint(wallet.address, 5_000_000n);
  page = await (await fetch(`${sale.gateway.url}/llms.txt`)).text();
});
afterAll(() => sale.stop());

interface Call {
  method: string;
  url: string;
  body?: string;
}

/** Finds the example of what is sold under this name. */
const soldAs = (title: string): Call => {
  const line = new RegExp(`^- \\*\\*${title}\\*\\* \\(\`(\\w+) (\\S+)\`\\): .*`, 'm').exec(page);
  const [text = '', method = '', url = ''] = line ?? [];
  const body = /Body: `(.*)`/.exec(text)?.[1];
  if (body !== undefined) return { method, url, body };
  const query = /Query: `(.*)`/.exec(text)?.[1];
  if (query === undefined) throw new Error(`the page has no example of ${title}`);
  const parameters = new URLSearchParams(JSON.parse(query) as Record<string, string>);
  return { method, url: `${url}?${parameters.toString()}` };
};

/** Finds a read by the end of its path, and fills its id in. */
const readAt = (end: string, id = ''): Call => {
  const found = [...page.matchAll(/`GET (\S+)`/g)]
    .map(([, url = '']) => url)
    .find((url) => url.endsWith(end));
  if (found === undefined) throw new Error(`the page has no call that ends with ${end}`);
  return { method: 'GET', url: found.replace('<ID>', id) };
};

const send = ({ method, url, body }: Call, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body }),
  });

const toBase64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64');
const fromBase64 = (text: string | null): unknown => JSON.parse(Buffer.from(text ?? '', 'base64').toString());

interface Terms {
  scheme: string;
  network: string;
  asset: `0x${string}`;
  amount: string;
  payTo: string;
  maxTimeoutSeconds: number;
  extra: { name: string; version: string; assetTransferMethod?: string };
}

/** Pays as the page says: reads the terms, signs EIP-712 by hand, sends the same call with the proof. */
const pay = async (call: Call): Promise<Record<string, unknown>> => {
  const unpaid = await send(call);
  expect(unpaid.status).toBe(402);
  const { resource, accepts } = fromBase64(unpaid.headers.get('payment-required')) as {
    resource: object;
    accepts: Terms[];
  };
  const accepted = accepts.find(
    ({ scheme, network, extra }) =>
      scheme === 'exact' && network.startsWith('eip155:') && extra.assetTransferMethod === undefined,
  );
  if (accepted === undefined) throw new Error('no terms can be signed by hand');
  const authorization = {
    from: wallet.address,
    to: accepted.payTo,
    value: accepted.amount,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1000) + accepted.maxTimeoutSeconds),
    nonce: bytesToHex(crypto.getRandomValues(new Uint8Array(32))),
  };
  const [, primaryType = '', members = ''] = /`(\w+Authorization)\((.*?)\)`/.exec(page) ?? [];
  const fields = members.split(',').map((member) => {
    const [type = '', name = ''] = member.split(' ');
    return { type, name };
  });
  const signature = await wallet.signTypedData({
    domain: {
      name: accepted.extra.name,
      version: accepted.extra.version,
      chainId: Number(accepted.network.split(':')[1]),
      verifyingContract: accepted.asset,
    },
    types: { [primaryType]: fields },
    primaryType,
    message: authorization,
  });
  const proof = { x402Version: 2, resource, accepted, payload: { signature, authorization } };
  const paid = await send(call, { 'PAYMENT-SIGNATURE': toBase64(proof) });
  expect(paid.ok).toBe(true);
  expect(fromBase64(paid.headers.get('payment-response'))).toMatchObject({ success: true });
  return (await paid.json()) as Record<string, unknown>;
};

/** Signs in as the page says, and returns the key. */
const signIn = async (): Promise<string> => {
  const [, method = '', url = ''] = /`(POST) (\S+)` without a body/.exec(page) ?? [];
  const { extensions } = (await (await send({ method, url })).json()) as {
    extensions: {
      'sign-in-with-x': {
        info: Record<string, string>;
        supportedChains: { chainId: string; type: string }[];
      };
    };
  };
  const { info, supportedChains } = extensions['sign-in-with-x'];
  const chain = supportedChains.find(({ chainId }) => chainId.startsWith('eip155:'));
  const values: Record<string, string | undefined> = {
    ...info,
    address: wallet.address,
    'the number in chainId': chain?.chainId.split(':')[1],
  };
  const template = /```\n(.*?)\n```/s.exec(page)?.[1] ?? '';
  const message = template.replaceAll(/\{(.*?)\}/g, (_whole, name: string) => values[name] ?? '');
  const signature = await wallet.signMessage({ message });
  const header = toBase64({ ...info, ...chain, address: wallet.address, signature });
  const answer = await send({ method, url }, { 'SIGN-IN-WITH-X': header });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { key: string }).key;
};

it('costs a model at most 3,000 tokens', () => {
  const text = page.replaceAll(sale.gateway.url, 'https://gateway.example.com');
  expect(countTokens(text)).toBeLessThanOrEqual(3_000);
});

describe('a program with a wallet that has read nothing but the page', () => {
  let authorization: string;
  let videoId: string;
  let chatId: string;
  const read = async (call: Call): Promise<Record<string, unknown>> => {
    const answer = await send(call, { authorization });
    expect(answer.status).toBe(200);
    return (await answer.json()) as Record<string, unknown>;
  };
  const balance = async (): Promise<number> => Number((await read(readAt('/v1/balance')))['balance_usd']);

  it('searches', async () => {
    const found = await pay(soldAs('Search influencers'));
    expect(found['results']).not.toEqual([]);
  });

  it('buys a film', async () => {
    const { id, status } = await pay(soldAs('Make a video'));
    videoId = String(id);
    expect(status).toBe('queued');
  });

  it('tops its balance up, and signs in', async () => {
    expect(await pay(soldAs('Top up'))).toMatchObject({ amount_usd: '1.00', balance_usd: '1.00' });
    authorization = `Bearer ${await signIn()}`;
    expect(await balance()).toBe(1);
  });

  it('chats on its balance, and without it', async () => {
    const chat = soldAs('Ask a text model');
    const answer = await read(chat);
    expect(answer).toMatchObject({ choices: [{ message: { content: expect.stringMatching(/./) } }] });
    chatId = String(answer['id']);
    expect(await balance()).toBeLessThan(1);
    expect(await pay(chat)).toMatchObject({ object: 'chat.completion' });
  });

  it('fetches the film', async () => {
    await vi.waitUntil(
      async () => {
        const { status } = await read(readAt('/v1/videos/<ID>', videoId));
        expect(status).not.toBe('failed');
        return status === 'completed';
      },
      { timeout: 25_000, interval: 200 },
    );
    const film = await send(readAt('/content', videoId), { authorization });
    expect(film.headers.get('content-type')).toBe('video/mp4');
    expect(Buffer.from(await film.arrayBuffer()).toString('latin1', 4, 8)).toBe('ftyp');
  });

  it('reads what it bought, with receipts', async () => {
    const { data } = (await read(readAt('/v1/purchases'))) as { data: { id: string; operation: string }[] };
    expect(data.map(({ operation }) => operation)).toEqual([
      'create_chat_completion',
      'top_up',
      'create_video',
      'search_leads',
    ]);
    for (const [id, type] of [
      [chatId, 'job'],
      [videoId, 'job'],
      ...data.map((purchase) => [purchase.id, 'payment'] as const),
    ] as const)
      expect(await read(readAt('/v1/receipts/<ID>', id))).toMatchObject({ type, receipt: { format: 'jws' } });
  });
});
