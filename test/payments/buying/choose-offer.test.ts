import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PurchaseError } from '../../../src/http/pay-settings.ts';
import { nanoPerUsd } from '../../../src/kit/money.ts';
import { encodeBase64Json } from '../../../src/payments/chains/core/wire.ts';
import { requireNetwork } from '../../../src/payments/chains/networks.ts';
import { chooseOffer } from '../../../src/payments/buying/choose-offer.ts';
import { openWallet } from '../../../src/payments/buying/open-wallet.ts';

const base = requireNetwork('eip155:8453');
const solana = requireNetwork('solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp');
const maxPerCall = nanoPerUsd / 10n;
const payTo = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const good = {
  scheme: 'exact',
  network: base.id,
  asset: base.asset.address,
  amount: '100000',
  payTo,
  maxTimeoutSeconds: 60,
  extra: { name: 'USD Coin', version: '2' },
};
const onSolana = {
  ...good,
  network: solana.id,
  asset: solana.asset.address,
  payTo: solana.asset.address,
  extra: { feePayer: solana.asset.address },
};
const headerOf = (...accepts: unknown[]): string =>
  encodeBase64Json({ x402Version: 2, resource: { url: 'https://seller.example/' }, accepts });
const choose = (header: unknown) => chooseOffer(header, { networks: [solana, base], maxPerCall });

describe('the choice among the terms of an upstream', () => {
  it('takes those of the first network of the operator', () => {
    expect(choose(headerOf(good, onSolana))).toMatchObject({ network: { id: solana.id }, price: maxPerCall });
    expect(choose(headerOf({ scheme: 'upto' }, good))).toMatchObject({ network: { id: base.id } });
  });

  it.each([
    ['max_usd_per_call', { amount: '100001' }],
    ['not a known token', { asset: payTo }],
    ['address of the seller', { payTo: '0x0000000000000000000000000000000000000000' }],
    ['valid for 3601 seconds', { maxTimeoutSeconds: 3_601 }],
    ['not payable', { amount: '0' }],
    ['named wrongly', { extra: { name: 'USDC', version: '2' } }],
    ['way in which', { extra: { ...good.extra, assetTransferMethod: 'permit2' } }],
    ['allowed networks', { network: 'eip155:1' }],
    ['allowed networks', { scheme: 'upto' }],
  ])('refuses others: %s', (reason, change) => {
    expect(() => choose(headerOf({ ...good, ...change }))).toThrow(reason);
  });

  it('takes nothing above the limit, and fails in one way, whatever the upstream sends', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom(...Object.values(good).map(String)));
    const amount = fc.oneof(fc.bigInt({ min: -1n, max: 1n << 260n }).map(String), fc.constant('1'), text);
    const extra = fc.oneof(fc.constant(good.extra), fc.dictionary(fc.string(), fc.jsonValue()));
    const terms = fc.record({
      ...Object.fromEntries(Object.keys(good).map((key) => [key, text])),
      amount,
      extra,
    });
    const mostly = fc.oneof(
      terms,
      terms.map((change) => ({ ...good, amount: change.amount, extra: change.extra })),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(mostly).map((all) => headerOf(...all)),
          fc.string(),
        ),
        (header) => {
          try {
            const { price, requirements } = choose(header);
            expect(price).toBeLessThanOrEqual(maxPerCall);
            expect(BigInt(requirements.amount)).toBeLessThanOrEqual(100_000n);
            expect([base.asset.address, solana.asset.address]).toContain(requirements.asset);
          } catch (error) {
            expect(error).toBeInstanceOf(PurchaseError);
          }
        },
      ),
    );
  });
});

it('opens no wallet without a key of the right form for each network', () => {
  const pay = {
    setting: 'providers.up.pay.x402',
    maxPerCall,
    maxPerDay: maxPerCall,
    keys: [`0x${'1'.repeat(64)}`],
  };
  expect(openWallet({ ...pay, networks: ['base'] }, []).networks).toMatchObject([{ id: base.id }]);
  expect(() => openWallet({ ...pay, networks: ['base', 'solana'] }, [])).toThrow(
    'providers.up.pay.x402.wallet_env: no key for Solana',
  );
  expect(() => openWallet({ ...pay, networks: ['bas'] }, [])).toThrow('bas is not a known network');
});
