import fc from 'fast-check';
import { Challenge } from 'mppx';
import { evm } from 'mppx/client';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import type { PaymentMethod } from '../../../src/payments/wire/challenge.ts';
import type { DialectBinding } from '../../../src/payments/wire/dialect.ts';
import { mpp } from '../../../src/payments/wire/mpp.ts';
import { paymentNetworks } from '../../../src/payments/chains/networks.ts';

const binding: DialectBinding = { key: 'a secret', requestHash: 'a request', field: 'Authorization' };
/** Every network, as if a facilitator supported it. */
const methods = paymentNetworks.map((network): PaymentMethod => ({
  network,
  payTo: network.family.name === 'evm' ? '0x00000000000000000000000000000000000000AA' : 'seller',
  facilitator: {
    supports: () => ({ extra: {} }),
    address: () => 'https://facilitator.example',
  } as unknown as PaymentMethod['facilitator'],
  readFunds: () => Promise.resolve(null),
  findWallet: () => Promise.resolve(null),
  findSigner: () => Promise.resolve(null),
  prepareTransfer: () => Promise.resolve(null),
}));
const offered = mpp.writeTerms(
  { methods, price: 100_000_000n, realm: 'leads.example', now: Date.now() },
  binding,
);
const challenges = Challenge.deserializeList(offered.map(([, value]) => value).join(', '));

const sign = async (): Promise<string> => {
  const [method] = evm({
    account: privateKeyToAccount(generatePrivateKey()),
    authorization: { name: 'USDC', version: '2' },
  });
  return method.createCredential({ challenge: challenges[0] as never, context: {} });
};

describe('challenges', () => {
  it('are written for each network whose token has ERC-3009, as the public client reads them', () => {
    expect(challenges.map(({ request }) => request['methodDetails'])).toEqual(
      [8_453, 84_532, 1, 11_155_111].map((chainId) => ({
        chainId,
        credentialTypes: ['authorization'],
        decimals: 6,
      })),
    );
  });
});

describe('a credential', () => {
  it('of the public client is the x402 proof of the same terms', async () => {
    expect(mpp.readCredential(await sign(), binding)).toMatchObject({
      proof: { accepted: { network: 'eip155:8453', amount: '100000' } },
    });
  });

  it.each([
    ['with another key', { key: 'another' }],
    ['for another request', { requestHash: 'another' }],
    ['in the other header', { field: 'Payment-Authorization' }],
  ] as const)('%s answers no challenge', async (_what, other) => {
    const read = mpp.readCredential(await sign(), { ...binding, ...other });
    expect(read).toMatchObject({ problem: { title: 'Invalid Challenge' } });
  });

  it('with any other word is refused, and never a fault', async () => {
    const contents = JSON.parse(Buffer.from((await sign()).slice(8), 'base64url').toString());
    const names = fc.constantFrom(
      ...Object.keys(contents.challenge).map((name) => ['challenge', name] as const),
      ...['nonce', 'type'].map((name) => ['payload', name] as const),
    );
    fc.assert(
      fc.property(names, fc.jsonValue(), ([part, name], value) => {
        fc.pre(value !== contents[part][name]);
        const changed = { ...contents, [part]: { ...contents[part], [name]: value } };
        const text = Buffer.from(JSON.stringify(changed)).toString('base64url');
        expect(mpp.readCredential(`Payment ${text}`, binding)).toHaveProperty('problem');
      }),
    );
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.json()), (text) => {
        const encoded = Buffer.from(text).toString('base64url');
        expect(mpp.readCredential(`Payment ${text}`, binding)).toHaveProperty('problem');
        expect(mpp.readCredential(`Payment ${encoded}`, binding)).toHaveProperty('problem');
      }),
    );
  });
});
