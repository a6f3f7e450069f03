import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { extractOffersFromPaymentRequired } from '@x402/extensions/offer-receipt';
import { silentLog } from '../../../src/kit/log.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import {
  decodeBase64Json,
  encodeBase64Json,
  type PaymentRequired,
} from '../../../src/payments/chains/core/wire.ts';
import {
  createChallengeRegistry,
  supportedKinds,
  type ChallengeRegistry,
  type PaymentMethod,
} from '../../../src/payments/wire/challenge.ts';
import { declareExtensions } from '../../../src/payments/wire/sold-resources.ts';
import {
  createDocumentSigner,
  newSigningKey,
  createSignOffers,
} from '../../../src/payments/wire/signed-documents.ts';
import { declareSignIn } from '../../../src/payments/wire/sign-in-with-x.ts';
import type { Facilitator, SupportedKind } from '../../../src/payments/chains/core/facilitator.ts';
import { requireNetwork } from '../../../src/payments/chains/networks.ts';
import { describeSale } from './sale.ts';

type Supported = SupportedKind | 'unsupported' | null;

const unused = (): Promise<never> => Promise.reject(new Error('terms need no facilitator'));
const methodOn = (id: string, supports: () => Supported): PaymentMethod => {
  const facilitator: Facilitator = {
    name: 'remote',
    address: () => 'https://facilitator.example',
    supports,
    refresh: unused,
    verify: unused,
    settle: unused,
    findOutcome: unused,
    canSettleBlindly: () => false,
  };
  return {
    network: requireNetwork(id),
    payTo: id.startsWith('eip155') ? '0xSeller' : 'Seller',
    facilitator,
    readFunds: unused,
    findSigner: unused,
    prepareTransfer: () => Promise.resolve(null),
    findWallet: unused,
  };
};

const resource = {
  url: 'https://leads.example/v1/search',
  description: 'Search',
  mimeType: 'application/json',
};
const price = parseUsd('0.10');
const feePayer = (address: string): Supported => ({ extra: { feePayer: address } });
const createBook = (methods: readonly PaymentMethod[]): ChallengeRegistry =>
  createChallengeRegistry(methods, { signOffers: null, headerBytes: 7_168, now: () => 0 });

describe('a challenge', () => {
  it('says the same in every dialect', () => {
    const book = createBook([
      methodOn('eip155:84532', () => null),
      methodOn('solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', () => feePayer('Payer')),
    ]);
    const { header, paymentRequired, body } = book.challenge({ price, resource });
    expect(decodeBase64Json(header)).toEqual(paymentRequired);
    expect(paymentRequired).toEqual({
      x402Version: 2,
      error: 'Payment required',
      resource,
      accepts: [
        {
          scheme: 'exact',
          network: 'eip155:84532',
          asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
          amount: '100000',
          payTo: '0xSeller',
          maxTimeoutSeconds: 300,
          extra: { name: 'USDC', version: '2', facilitator: 'https://facilitator.example' },
        },
        {
          scheme: 'exact',
          network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
          asset: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
          amount: '100000',
          payTo: 'Seller',
          maxTimeoutSeconds: 300,
          extra: { feePayer: 'Payer', facilitator: 'https://facilitator.example' },
        },
      ],
    });
    expect(body).toMatchObject({
      error: 'Payment required',
      x402: { version: '2', amount: '0.10', asset: 'USDC', payTo: '0xSeller', chain: 'base-sepolia' },
      x402Version: 1,
      accepts: [
        { network: 'base-sepolia', maxAmountRequired: '100000', resource: resource.url, payTo: '0xSeller' },
        { network: 'solana-devnet', maxAmountRequired: '100000', extra: { feePayer: 'Payer' } },
      ],
    });
  });

  it('is made once for each price and place, and anew when a facilitator says something else', () => {
    let supported: Supported = feePayer('First');
    const book = createBook([methodOn('solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', () => supported)]);
    const first = book.challenge({ price, resource });
    expect(book.challenge({ price, resource })).toBe(first);
    expect(book.challenge({ price: price * 2n, resource }).body.x402.amount).toBe('0.20');
    expect(book.challenge({ price, resource: { ...resource, url: 'https://leads.example/mcp' } })).not.toBe(
      first,
    );
    supported = feePayer('Second');
    book.clear();
    expect(book.challenge({ price, resource }).paymentRequired.accepts[0]?.extra).toMatchObject({
      feePayer: 'Second',
    });
  });

  it('carries the reason of a refusal to every dialect, and does not keep it', () => {
    const book = createBook([methodOn('eip155:8453', () => null)]);
    const refused = book.challenge({ price, resource, reason: 'insufficient_funds' });
    expect([refused.body.error, refused.paymentRequired.error]).toEqual([
      'insufficient_funds',
      'insufficient_funds',
    ]);
    expect(book.challenge({ price, resource }).body.error).toBe('Payment required');
  });

  it('lists each scheme that is settled in this process', () => {
    const method = methodOn('eip155:8453', () => ({ extra: {}, upto: { facilitatorAddress: '0xF' } }));
    const own = { ...method, facilitator: { ...method.facilitator, name: 'local' } };
    const { kinds } = JSON.parse(supportedKinds([own]) ?? '');
    expect(kinds).toContainEqual({
      x402Version: 2,
      scheme: 'upto',
      network: 'eip155:8453',
      extra: { facilitatorAddress: '0xF' },
    });
  });

  it('offers Solana only once its fee payer is known, and nothing that is not supported', () => {
    const solana = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';
    const book = createBook([methodOn(solana, () => null), methodOn('eip155:8453', () => null)]);
    expect(book.challenge({ price, resource }).paymentRequired.accepts).toHaveLength(1);
    const none = createBook([methodOn(solana, () => null), methodOn(solana, () => 'unsupported')]);
    expect(() => none.challenge({ price, resource })).toThrow(
      expect.objectContaining({ code: 'payment_unavailable', retryAfterSeconds: 10 }),
    );
  });
});

/** As many methods, of addresses as long as real ones. */
const someMethods = (count: number, supports: () => Supported): PaymentMethod[] =>
  Array.from({ length: count }, (_method, index) => {
    const id = index % 2 === 0 ? 'eip155:84532' : 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
    const payTo = index % 2 === 0 ? `0x${'b'.repeat(40)}` : 'S'.repeat(44);
    return { ...methodOn(id, supports), payTo };
  });

const sale = describeSale();
const dearest = {
  price: parseUsd('0.26'),
  resource: {
    url: 'https://leads.some-company.example/v1/search',
    description: 'Influencer search',
    mimeType: 'application/json',
    serviceName: sale.serviceName,
    tags: sale.tags,
  },
  extensions: declareExtensions(sale).rest,
};

/** A book that signs, at a time that can be moved. */
const startSigning = (networks: number, headerBytes = 7_168) => {
  let builds = 0;
  let signatures = 0;
  let now = 1_800_000_000_000;
  let isOffered = true;
  const signer = createDocumentSigner({
    key: newSigningKey(),
    publicUrl: () => 'https://leads.some-company.example',
  });
  const signOffers = createSignOffers({
    signer: () => ({
      ...signer,
      sign: (payload) => {
        signatures += 1;
        return signer.sign(payload);
      },
    }),
    now: () => now,
    log: silentLog,
  });
  const methods = someMethods(networks, () => {
    builds += 1;
    return isOffered ? feePayer('F'.repeat(44)) : 'unsupported';
  });
  return {
    book: createChallengeRegistry(methods, { signOffers, headerBytes, now: () => now }),
    /** How many terms were made and how many offers signed so far. */
    work: () => ({ builds, signatures }),
    pass: (minutes: number) => {
      now += minutes * 60_000;
    },
    offerNothing: () => {
      isOffered = false;
    },
  };
};

const signedIn = (header: string) => extractOffersFromPaymentRequired(decodeBase64Json(header) as never);

describe('the length of PAYMENT-REQUIRED', () => {
  it.each([
    [1, 3_000],
    [4, 4_096],
    [8, 6_000],
  ])('with %i networks and all that is declared is below %i characters', (networks, most) => {
    const book = createBook(someMethods(networks, () => feePayer('F'.repeat(44))));
    const reason = 'r'.repeat(100);
    expect(book.challenge({ ...dearest, reason }).header.length).toBeLessThan(most);
  });

  it('allows for the signed offers of four networks', () => {
    const { header } = startSigning(4).book.challenge(dearest);
    expect(signedIn(header)).toHaveLength(4);
    expect(header.length).toBeLessThanOrEqual(7_168);
  });

  it('is kept, where that is not enough, by leaving out what is declared, and never the terms', () => {
    const { header, paymentRequired } = startSigning(4, 3_000).book.challenge(dearest);
    expect(header.length).toBeLessThanOrEqual(3_000);
    const told = decodeBase64Json(header);
    expect(told).toMatchObject({ accepts: paymentRequired.accepts });
    expect(told).toHaveProperty('extensions', {
      'payment-identifier': paymentRequired.extensions?.['payment-identifier'],
    });
    const tight = startSigning(4, 1_000).book.challenge(dearest).header;
    expect(decodeBase64Json(tight)).toMatchObject({ accepts: paymentRequired.accepts });
    expect(decodeBase64Json(tight)).not.toHaveProperty('extensions');
  });

  it('has room for the offer to sign in longest, which one challenge alone has, in its body too', () => {
    const { book } = startSigning(4, 3_200);
    const chains = Array.from({ length: 4 }, () => ({
      chainId: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
      type: 'ed25519' as const,
    }));
    const url = 'https://leads.some-company.example/v1/auth/wallet';
    const ownExtensions = {
      'sign-in-with-x': declareSignIn({ url, nonce: 'n'.repeat(44), chains, now: 0 }),
    };
    const { header, body } = book.challenge({ ...dearest, ownExtensions });
    expect(header.length).toBeLessThanOrEqual(3_200);
    expect(decodeBase64Json(header)).toMatchObject({ extensions: ownExtensions });
    expect(body.extensions).toEqual(ownExtensions);
    expect(book.challenge(dearest).paymentRequired.extensions).not.toHaveProperty('sign-in-with-x');
  });

  it('is kept by leaving out the offers of the last networks, which MCP still tells', () => {
    const { header, paymentRequired } = startSigning(8).book.challenge(dearest);
    expect(header.length).toBeLessThanOrEqual(7_168);
    const kept = signedIn(header);
    const all = extractOffersFromPaymentRequired(paymentRequired);
    expect(all).toHaveLength(8);
    expect(kept.length).toBeGreaterThan(0);
    expect(kept).toEqual(all.slice(0, kept.length));
  });
});

describe('the length of the proof that answers', () => {
  it.each([1, 2, 3, 4, 8])(
    'with %i networks, the longest transaction and all extensions given back, is below 8 KB',
    (networks) => {
      const { header } = startSigning(networks).book.challenge(dearest);
      const { resource, accepts, extensions } = decodeBase64Json(header) as PaymentRequired;
      const accepted = accepts.toSorted((a, b) => JSON.stringify(b).length - JSON.stringify(a).length)[0];
      const id = { info: { required: false, id: 'i'.repeat(128) } };
      const proof = encodeBase64Json({
        x402Version: 2,
        resource,
        accepted,
        payload: { transaction: 'A'.repeat(1_644) },
        extensions: { ...extensions, 'payment-identifier': { ...extensions?.['payment-identifier'], ...id } },
      });
      expect(proof.length).toBeLessThan(8_192 - 'payment-signature: '.length);
    },
  );
});

describe('a challenge with signed offers', () => {
  it('is made once, and is given out for half of the life of its offers', () => {
    const { book, work, pass } = startSigning(2);
    const first = book.challenge(dearest);
    for (let count = 0; count < 1_000; count += 1) expect(book.challenge(dearest)).toBe(first);
    pass(2.4);
    expect(book.challenge(dearest)).toBe(first);
    expect(work()).toEqual({ builds: 2, signatures: 2 });
  });

  it('is then made anew, once', () => {
    const { book, work, pass } = startSigning(2);
    const first = book.challenge(dearest);
    pass(2.5);
    const second = book.challenge(dearest);
    expect(signedIn(second.header)).not.toEqual(signedIn(first.header));
    expect(book.challenge(dearest)).toBe(second);
    expect(work()).toEqual({ builds: 4, signatures: 4 });
  });

  it('is never given out when a buyer would have no time to take them', () => {
    const { book, pass } = startSigning(1);
    const first = book.challenge(dearest);
    pass(4);
    expect(signedIn(book.challenge(dearest).header)).not.toEqual(signedIn(first.header));
  });

  it('takes the offers that are there when the reason of a refusal makes it another', () => {
    const { book, work } = startSigning(2);
    const { header } = book.challenge(dearest);
    const refused = book.challenge({ ...dearest, reason: 'insufficient_funds' });
    expect(refused.paymentRequired.error).toBe('insufficient_funds');
    expect(signedIn(refused.header)).toEqual(signedIn(header));
    expect(work().signatures).toBe(2);
  });

  it('says that nothing can be offered once that is found while it is made anew', () => {
    const { book, pass, offerNothing } = startSigning(1);
    book.challenge(dearest);
    pass(2.5);
    offerNothing();
    expect(() => book.challenge(dearest)).toThrow(expect.objectContaining({ code: 'payment_unavailable' }));
  });

  it('shows the body of v1 clients nothing of its extensions', () => {
    const plain = createBook(someMethods(2, () => feePayer('F'.repeat(44))));
    const { serviceName: _name, tags: _tags, ...resource } = dearest.resource;
    expect(startSigning(2).book.challenge(dearest).body).toEqual(
      plain.challenge({ price: dearest.price, resource }).body,
    );
  });
});

describe('a gate that has only made terms', () => {
  it('has loaded no package of any chain', () => {
    const gate = fileURLToPath(new URL('../../../src/payments/sale/gate.ts', import.meta.url));
    const script = `
      import { registerHooks } from 'node:module';
      const loaded = [];
      registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
      const { createX402Gate } = await import(${JSON.stringify(gate)});
      const sale = { name: 'sold', descriptions: { real: 'Sold', sandbox: 'Sold' }, tags: [], method: 'GET', path: '/sold', inputSchemas: { rest: {}, mcp: {} } };
      const log = { child: () => log };
      const local = (network, payTo, privateKey) =>
        ({ network, payTo, facilitator: { kind: 'local', rpcUrl: 'http://127.0.0.1:1', privateKey } });
      const networks = [
        local('eip155:84532', '0x01', '0x' + '11'.repeat(32)),
        local('solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', 'S', '1'.repeat(64)),
      ];
      const options = { store: {}, clock: { now: Date.now }, owner: 'o', publicUrl: () => 'http://x', log };
      const sold = { ...options, networks, sales: [sale] };
      createX402Gate(sold).challenge({ price: 100000000n, sale: 'sold', transport: 'rest' });
      console.log(loaded.filter((url) => /node_modules.(viem|@x402|@solana|ox)/.test(url)).length, loaded.length > 10);
    `;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect({ stdout: stdout.trim(), stderr }).toEqual({ stdout: '0 true', stderr: '' });
  });
});
