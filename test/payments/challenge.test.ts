import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseUsd } from '../../src/money.ts';
import { decodeBase64Json } from '../../src/payments/base64-json.ts';
import { createChallengeBook, type PaymentMethod } from '../../src/payments/challenge.ts';
import type { Facilitator, SupportedKind } from '../../src/payments/facilitators/facilitator.ts';
import { requireNetwork } from '../../src/payments/networks.ts';

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
  };
  return { network: requireNetwork(id), payTo: id.startsWith('eip155') ? '0xSeller' : 'Seller', facilitator };
};

const resource = {
  url: 'https://leads.example/v1/search',
  description: 'Search',
  mimeType: 'application/json',
};
const price = parseUsd('0.10');
const feePayer = (address: string): Supported => ({ extra: { feePayer: address } });

describe('a challenge', () => {
  it('says the same in every dialect', () => {
    const book = createChallengeBook([
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

  it('stays far below what proxies cut', () => {
    const all = ['eip155:8453', 'eip155:84532', 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'];
    const book = createChallengeBook(all.map((id) => methodOn(id, () => feePayer('F'.repeat(44)))));
    const reason = 'r'.repeat(100);
    expect(book.challenge({ price, resource, reason }).header.length).toBeLessThan(4_096);
  });

  it('is made once for each price and place, and anew when a facilitator says something else', () => {
    let supported: Supported = feePayer('First');
    const book = createChallengeBook([methodOn('solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', () => supported)]);
    const first = book.challenge({ price, resource });
    expect(book.challenge({ price, resource })).toBe(first);
    expect(book.challenge({ price: price * 2n, resource }).body.x402.amount).toBe('0.20');
    expect(book.challenge({ price, resource: { ...resource, url: 'mcp://tool/search_leads' } })).not.toBe(
      first,
    );
    supported = feePayer('Second');
    book.clear();
    expect(book.challenge({ price, resource }).paymentRequired.accepts[0]?.extra).toMatchObject({
      feePayer: 'Second',
    });
  });

  it('carries the reason of a refusal to every dialect, and does not keep it', () => {
    const book = createChallengeBook([methodOn('eip155:8453', () => null)]);
    const refused = book.challenge({ price, resource, reason: 'insufficient_funds' });
    expect([refused.body.error, refused.paymentRequired.error]).toEqual([
      'insufficient_funds',
      'insufficient_funds',
    ]);
    expect(book.challenge({ price, resource }).body.error).toBe('Payment required');
  });

  it('offers Solana only once its fee payer is known, and nothing that is not supported', () => {
    const solana = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';
    const book = createChallengeBook([methodOn(solana, () => null), methodOn('eip155:8453', () => null)]);
    expect(book.challenge({ price, resource }).paymentRequired.accepts).toHaveLength(1);
    const none = createChallengeBook([methodOn(solana, () => null), methodOn(solana, () => 'unsupported')]);
    expect(() => none.challenge({ price, resource })).toThrow(
      expect.objectContaining({ code: 'payment_unavailable', retryAfterSeconds: 10 }),
    );
  });
});

describe('a gate that has only made terms', () => {
  it('has loaded no package of any chain', () => {
    const gate = fileURLToPath(new URL('../../src/purchases/x402-gate.ts', import.meta.url));
    const script = `
      import { registerHooks } from 'node:module';
      const loaded = [];
      registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
      const { createX402Gate } = await import(${JSON.stringify(gate)});
      const log = { child: () => log };
      const local = (network, payTo, privateKey) =>
        ({ network, payTo, facilitator: { kind: 'local', rpcUrl: 'http://127.0.0.1:1', privateKey } });
      const networks = [
        local('eip155:84532', '0x01', '0x' + '11'.repeat(32)),
        local('solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', 'S', '1'.repeat(64)),
      ];
      const options = { store: {}, clock: { now: Date.now }, owner: 'o', publicUrl: () => 'http://x', log };
      createX402Gate({ ...options, networks }).challenge({ price: 100000000n, resource: 'rest' });
      console.log(loaded.filter((url) => /node_modules.(viem|@x402|@solana|ox)/.test(url)).length, loaded.length > 10);
    `;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect({ stdout: stdout.trim(), stderr }).toEqual({ stdout: '0 true', stderr: '' });
  });
});
