import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { decodeBase64Json, encodeBase64Json } from '../../src/payments/chains/core/wire.ts';
import type { ChainName } from '../payments/support/buyer.ts';
import { sendExactly, type ExactAnswer, type ExactRequest } from './send-exactly.ts';
import { searchPrice, startPaidSearch, type PaidSearch } from './start-paid-search.ts';

let search: PaidSearch;

beforeAll(async () => {
  search = await startPaidSearch();
});

afterAll(() => search.stop());

const path = '/v1/search?limit=3';

const send = (request: Partial<ExactRequest> = {}): Promise<ExactAnswer> =>
  sendExactly(search.gateway.url, { path, ...request });

/** The same proof without the members that clients may leave out, as some do. */
const bare = (proof: string): string => {
  const contents = z.looseObject({}).parse(decodeBase64Json(proof));
  const { resource: _resource, extensions: _extensions, ...rest } = contents;
  return encodeBase64Json(rest);
};

/** The same proof with a note in it, where clients may write what they like. */
const withNote = (proof: string, note: string): string => {
  const contents = z.looseObject({}).parse(decodeBase64Json(proof));
  return encodeBase64Json({ ...contents, extensions: { note } });
};

/** As a header of at least so many bytes. */
const padded = (proof: string, bytes: number): string => withNote(proof, 'x'.repeat((bytes * 3) / 4));

/** In base64 that differs from its URL-safe form by all three characters: plus, slash and padding. */
const plusAndSlash = (proof: string): string => {
  const texts = ['~~~???', '~~~???x', '~~~???xx'].map((note) => withNote(proof, note));
  const found = texts.find((text) => ['+', '/', '='].every((character) => text.includes(character)));
  if (found === undefined) throw new Error('no note makes a proof differ');
  return found;
};

const errorCodeOf = ({ body }: ExactAnswer): string =>
  z.object({ error: z.looseObject({ code: z.string() }) }).parse(JSON.parse(body)).error.code;

const createWallet = async (chain: ChainName): Promise<x402Client> => {
  const { base, solana } = search.chains;
  if (chain === 'base')
    return new x402Client().register(
      'eip155:*',
      new ExactEvmScheme(privateKeyToAccount(base.buyer.privateKey)),
    );
  const secretKey = Uint8Array.from(getBase58Encoder().encode(solana.buyer.secretKeyBase58));
  const signer = await createKeyPairSignerFromBytes(secretKey);
  return new x402Client().register('solana:*', new ExactSvmScheme(signer, { rpcUrl: solana.rpcUrl }));
};

describe.each(['base', 'solana'] as const)('the stock fetch client on %s', (chain) => {
  it('pays by itself, is served, and reads its receipt', async () => {
    const paying = wrapFetchWithPayment(fetch, await createWallet(chain));
    const charged = await search.charged(async () => {
      const response = await paying(`${search.gateway.url}/v1/search?query=travel&limit=3`);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ results: expect.any(Array) });
      const receipt = decodePaymentResponseHeader(response.headers.get('PAYMENT-RESPONSE') ?? '');
      expect(receipt).toMatchObject({ success: true, network: search.chains[chain].network });
    });
    expect(charged).toBe(searchPrice);
  });
});

describe('a wallet that sends both headers', () => {
  it('with two proofs signed apart is charged for one, also when it sends both again', async () => {
    const headers = [
      ['X-PAYMENT', await search.prove(1)],
      ['PAYMENT-SIGNATURE', await search.prove(2)],
    ] as const;
    const charged = await search.charged(async () => {
      const first = await send({ headers });
      const second = await send({ headers: headers.toReversed() });
      expect([first.status, second.status, second.body]).toEqual([200, 200, first.body]);
    });
    expect(charged).toBe(searchPrice);
  });

  it('with the same proof in both is charged once', async () => {
    const proof = await search.prove();
    const charged = await search.charged(async () => {
      const headers = [
        ['X-PAYMENT', proof],
        ['PAYMENT-SIGNATURE', proof],
      ] as const;
      expect((await send({ headers })).status).toBe(200);
    });
    expect(charged).toBe(searchPrice);
  });
});

describe('a proof', () => {
  const forms: [string, (chain: ChainName) => Promise<[name: string, value: string]>][] = [
    ['in a header of odd case', async (chain) => ['pAyMeNt-SiGnAtUrE', await search.prove(2, chain)]],
    ['of v1 in a lower case header', async (chain) => ['x-payment', await search.prove(1, chain)]],
    ['of v2 in the header of v1', async (chain) => ['X-PAYMENT', await search.prove(2, chain)]],
    ['of v1 in the header of v2', async (chain) => ['PAYMENT-SIGNATURE', await search.prove(1, chain)]],
    [
      'of v2 with nothing but terms and payload',
      async (chain) => ['PAYMENT-SIGNATURE', bare(await search.prove(2, chain))],
    ],
    [
      'with plus, slash and padding',
      async (chain) => ['PAYMENT-SIGNATURE', plusAndSlash(await search.prove(2, chain))],
    ],
    ['between blanks', async (chain) => ['PAYMENT-SIGNATURE', ` \t${await search.prove(2, chain)}  `]],
    [
      'in URL-safe base64 without padding',
      async (chain) => [
        'PAYMENT-SIGNATURE',
        Buffer.from(plusAndSlash(await search.prove(2, chain)), 'base64').toString('base64url'),
      ],
    ],
    [
      'of more than 8 KiB',
      async (chain) => ['PAYMENT-SIGNATURE', padded(await search.prove(2, chain), 8_192)],
    ],
  ];
  it.each(
    forms.flatMap(([form, make]) => (['base', 'solana'] as const).map((chain) => ({ form, make, chain }))),
  )('$form is taken on $chain, and charged once', async ({ make, chain }) => {
    // Proofs of v1 on Solana may be alike within one blockhash.
    search.chains.solana.controls.expireBlockhash();
    const headers = [await make(chain)];
    const charged = await search.charged(async () => {
      const first = await send({ headers });
      const again = await send({ headers });
      expect([first.status, again.status, again.body]).toEqual([200, 200, first.body]);
    });
    expect(charged).toBe(searchPrice);
  });

  const refusals: [string, (proof: string) => readonly (readonly [string, string])[]][] = [
    [
      'that comes in two headers of one name',
      (proof) => [
        ['PAYMENT-SIGNATURE', proof],
        ['payment-signature', proof],
      ],
    ],
    ['that is joined to itself by a comma', (proof) => [['X-PAYMENT', `${proof}, ${proof}`]]],
    ['in quotation marks', (proof) => [['PAYMENT-SIGNATURE', `"${proof}"`]]],
    ['as bare JSON', (proof) => [['PAYMENT-SIGNATURE', Buffer.from(proof, 'base64').toString('utf8')]]],
    ['cut in half', (proof) => [['PAYMENT-SIGNATURE', proof.slice(0, proof.length / 2)]]],
    ['with a word before it', (proof) => [['PAYMENT-SIGNATURE', `x402 ${proof}`]]],
  ];
  it.each(refusals)('%s is refused as unreadable, and stays good', async (_form, headersOf) => {
    const proof = await search.prove();
    const refusedCharge = await search.charged(async () => {
      const refused = await send({ headers: headersOf(proof) });
      expect([refused.status, errorCodeOf(refused)]).toEqual([400, 'invalid_payment']);
    });
    const charged = await search.charged(async () => {
      expect((await send({ headers: [['PAYMENT-SIGNATURE', proof]] })).status).toBe(200);
    });
    expect([refusedCharge, charged]).toEqual([0n, searchPrice]);
  });

  it('of 20 KB is refused in JSON, and charges nothing', async () => {
    const proof = padded(await search.prove(), 20_000);
    const charged = await search.charged(async () => {
      const refused = await send({ headers: [['PAYMENT-SIGNATURE', proof]] });
      expect(refused.status).toBe(400);
      expect(refused.body).toContain('longer than any proof');
    });
    expect(charged).toBe(0n);
  });

  it.each(['X-PAYMENT', 'PAYMENT-SIGNATURE'])('that is blank, in %s, is none', async (name) => {
    for (const value of ['', ' ']) {
      const answer = await send({ headers: [[name, value]] });
      expect([answer.status, answer.headers['payment-required']]).toEqual([402, expect.any(String)]);
    }
  });

  it.each(['X-PAYMENT', 'PAYMENT-SIGNATURE'])('that is no proof, in %s, is refused as such', async (name) => {
    for (const value of ['null', 'undefined', encodeBase64Json({}), encodeBase64Json(null)])
      expect((await send({ headers: [[name, value]] })).status).toBe(400);
  });
});

describe('a connection', () => {
  it('that is kept carries the challenge, a refusal and the payment', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      const unpaid = await send({ agent });
      const refused = await send({ agent, headers: [['X-PAYMENT', 'nonsense']] });
      const paid = await send({ agent, headers: [['PAYMENT-SIGNATURE', await search.prove()]] });
      expect([unpaid.status, refused.status, paid.status]).toEqual([402, 400, 200]);
      expect(new Set([unpaid, refused, paid].map(({ localPort }) => localPort)).size).toBe(1);
    } finally {
      agent.destroy();
    }
  });

  const sendOld = async (headers: string[]): Promise<{ head: string; body: string }> => {
    const { hostname, port } = new URL(search.gateway.url);
    const socket = connect(Number(port), hostname);
    socket.setTimeout(20_000, () => socket.destroy(new Error('no answer')));
    await once(socket, 'connect');
    socket.write([`GET ${path} HTTP/1.0`, ...headers, '', ''].join('\r\n'));
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
    return { head: head.toLowerCase(), body };
  };

  it('of HTTP/1.0 gets the terms and, paid, the result, both with their length and then the end', async () => {
    const unpaid = await sendOld([]);
    expect(unpaid.head).toMatch(/^http\/1\.[01] 402 /);
    expect(unpaid.head).toContain('\r\npayment-required: ');
    expect(JSON.parse(unpaid.body)).toMatchObject({ x402Version: 1 });
    const paid = await sendOld([`PAYMENT-SIGNATURE: ${await search.prove()}`]);
    expect(paid.head).toMatch(/^http\/1\.[01] 200 /);
    expect(JSON.parse(paid.body)).toMatchObject({ count: 3 });
    for (const { head, body } of [unpaid, paid]) {
      expect(head).toContain(`\r\ncontent-length: ${Buffer.byteLength(body)}`);
      expect(head).not.toContain('transfer-encoding');
    }
  });
});

describe('HEAD', () => {
  it('unpaid has the terms in its header and no body', async () => {
    const [head, get] = [await send({ method: 'HEAD' }), await send()];
    expect([head.status, head.body]).toEqual([402, '']);
    expect(head.headers['payment-required']).toBe(get.headers['payment-required']);
  });

  it('buys nothing with a proof, which is good for a GET then', async () => {
    const headers = [['PAYMENT-SIGNATURE', await search.prove()]] as const;
    const charged = await search.charged(async () => {
      const head = await send({ method: 'HEAD', headers });
      expect([head.status, head.body]).toEqual([402, '']);
    });
    expect(charged).toBe(0n);
    const get = await send({ headers });
    expect(JSON.parse(get.body)).toMatchObject({ count: 3 });
  });
});
