import { describe, expect, it } from 'vitest';
import { toPricing } from '../../../src/accounts/catalog/model.ts';
import { createCatalogs, accountLimits } from '../../../src/accounts/catalog/catalog.ts';
import { readConfig } from '../../../src/config/config.ts';
import { parseUsd } from '../../../src/kit/money.ts';

const config = readConfig({ ACTIVE_VIDEOS: '5', REQUESTS_PER_MINUTE: '600' }, null);
const catalogs = createCatalogs(config.models, {
  isSandboxModel: () => true,
  realSales: { hasBegun: () => false, refresh: () => Promise.resolve() },
});
const buyerOf = (terms: object | null) => ({
  accountId: 'acme',
  terms: terms === null ? null : JSON.stringify(terms),
  isSandbox: false,
});
const skusOf = (terms: object | null): string[] =>
  catalogs
    .for(buyerOf(terms))
    .list()
    .map(({ sku }) => sku);

describe('the catalog of an account', () => {
  it("has everything at the gateway's prices without own terms", () => {
    expect(catalogs.for(buyerOf(null)).list()).toEqual(config.models);
    expect(catalogs.for(buyerOf({})).list()).toEqual(config.models);
  });

  it('has only the enabled SKUs, in the order of the gateway', () => {
    const terms = { models: ['imagemodel-1.0', 'textmodel-3.5-flash'] };
    expect(skusOf(terms)).toEqual(['textmodel-3.5-flash', 'imagemodel-1.0']);
    expect(catalogs.for(buyerOf(terms)).find('textmodel-3.1-pro', 'chat')).toBeNull();
    expect(skusOf({ models: [] })).toEqual([]);
  });

  it("replaces the gateway's whole price by its own, for that SKU only", () => {
    const price = { unit: 'second', rates: [{ resolution: '720p', price_usd: '0.01' }] };
    const catalog = catalogs.for(buyerOf({ prices: { 'videomodel-2.0': price } }));
    const own = catalog.find('videomodel-2.0', 'video');
    expect(own === null ? null : toPricing(own.price)).toEqual({
      unit: 'second',
      currency: 'USD',
      rates: [{ resolution: '720p', price_usd: '0.01', with_video_price_usd: null }],
    });
    expect(own?.duration).toEqual(config.models.find(({ sku }) => sku === 'videomodel-2.0')?.duration);
    const other = catalog.find('videomodel-2.5', 'video');
    expect(other).toBe(config.models.find(({ sku }) => sku === 'videomodel-2.5'));
  });

  it('finds a SKU by its own kind only', () => {
    const catalog = catalogs.for(buyerOf({ models: ['imagemodel-1.0'] }));
    expect(catalog.find('imagemodel-1.0', 'chat')).toBeNull();
    expect(catalog.find('imagemodel-1.0', 'image')?.price).toEqual({ unit: 'call', price: parseUsd('0.04') });
  });

  it('leaves out a SKU of the terms that the gateway does not have any more', () => {
    const terms = { models: ['gone', 'imagemodel-1.0'], prices: { gone: { unit: 'call', price_usd: '1' } } };
    expect(skusOf(terms)).toEqual(['imagemodel-1.0']);
  });

  it('is read once for one text of terms', () => {
    const terms = { models: ['imagemodel-1.0'] };
    expect(catalogs.for(buyerOf(terms))).toBe(catalogs.for({ ...buyerOf(terms), accountId: 'other' }));
  });

  it.each([
    ['are no JSON', '{'],
    ['have a member of a newer version', '{"models":["imagemodel-1.0"],"monthly_fee":"1"}'],
    [
      'price an image by second',
      JSON.stringify({
        prices: { 'imagemodel-1.0': { unit: 'second', rates: [{ resolution: '4k', price_usd: '1' }] } },
      }),
    ],
  ])('is a fault that names the account, every time, when the terms %s', (_name, terms) => {
    for (const _try of [1, 2])
      expect(() => catalogs.for({ accountId: 'acme', terms, isSandbox: false })).toThrow(
        'the terms of account acme cannot be used',
      );
    expect(() => accountLimits({ accountId: 'acme', terms, isSandbox: false }, { catalogs, config })).toThrow(
      'acme',
    );
  });
});

describe('the limits of an account', () => {
  it('are its own where its terms have them, else those of the gateway', () => {
    const limitsOf = (terms: object | null) => accountLimits(buyerOf(terms), { catalogs, config });
    expect(limitsOf(null)).toEqual({ activeVideos: 5, requestsPerMinute: 600 });
    expect(limitsOf({ active_videos: 1 })).toEqual({ activeVideos: 1, requestsPerMinute: 600 });
    expect(limitsOf({ requests_per_minute: 7 })).toEqual({ activeVideos: 5, requestsPerMinute: 7 });
  });
});
