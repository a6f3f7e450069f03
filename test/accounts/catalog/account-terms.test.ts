import { describe, expect, it } from 'vitest';
import {
  AccountTermsError,
  checkAccountTerms,
  parseAccountTerms,
  readAccountTerms,
  toTermsText,
} from '../../../src/accounts/catalog/account-terms.ts';
import { readConfig } from '../../../src/config/config.ts';
import { parseRate, parseUsd } from '../../../src/kit/money.ts';

const { models } = readConfig({}, null);

const refusalOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    if (error instanceof AccountTermsError) return error.message;
    throw error;
  }
  return 'taken';
};

const whole = {
  models: ['textmodel-3.1-pro', 'videomodel-2.0'],
  prices: {
    'textmodel-3.1-pro': { unit: 'token', input_usd_per_1m: 0.9, output_usd_per_1m: '5.4000' },
    'imagemodel-1.0': { unit: 'call', price_usd: '0.03' },
    'videomodel-2.0': {
      unit: 'second',
      rates: [
        { resolution: '720p', price_usd: '0.03', with_video_price_usd: '0.02' },
        { resolution: '4k', price_usd: '0.1' },
      ],
    },
  },
  active_videos: 20,
  requests_per_minute: 1_200,
};

describe('account terms', () => {
  it('are read whole', () => {
    const terms = readAccountTerms(whole);
    expect(terms).toEqual({
      skus: new Set(whole.models),
      prices: new Map<string, unknown>([
        ['textmodel-3.1-pro', { unit: 'token', input: parseRate('0.9'), output: parseRate('5.4') }],
        ['imagemodel-1.0', { unit: 'call', price: parseUsd('0.03') }],
        [
          'videomodel-2.0',
          {
            unit: 'second',
            rates: [
              { resolution: '720p', price: parseUsd('0.03'), withVideoPrice: parseUsd('0.02') },
              { resolution: '4k', price: parseUsd('0.1'), withVideoPrice: null },
            ],
          },
        ],
      ]),
      activeVideos: 20,
      requestsPerMinute: 1_200,
    });
    expect(refusalOf(() => checkAccountTerms(terms, models))).toBe('taken');
  });

  it.each([
    ['active_videos', 1, 10_000],
    ['requests_per_minute', 1, 1_000_000],
  ])('have a limit %s of %i to %i', (name, least, most) => {
    for (const limit of [least, most])
      expect(refusalOf(() => readAccountTerms({ [name]: limit }))).toBe('taken');
    for (const limit of [least - 1, most + 1, 1.5, '5', null])
      expect(refusalOf(() => readAccountTerms({ [name]: limit }))).toMatch(new RegExp(`^${name}: `));
  });

  it('name a thousand SKUs at most', () => {
    const skus = Array.from({ length: 1_001 }, (_none, index) => `sku-${index}`);
    const prices = (names: string[]) =>
      Object.fromEntries(names.map((sku) => [sku, { unit: 'call', price_usd: '1' }]));
    expect(refusalOf(() => readAccountTerms({ models: skus.slice(1) }))).toBe('taken');
    expect(refusalOf(() => readAccountTerms({ prices: prices(skus.slice(1)) }))).toBe('taken');
    expect(refusalOf(() => readAccountTerms({ models: skus }))).toMatch(/^models: /);
    expect(refusalOf(() => readAccountTerms({ prices: prices(skus) }))).toBe(
      'prices: has more than 1000 prices',
    );
  });

  it('may leave everything out', () => {
    expect(readAccountTerms({})).toEqual({
      skus: null,
      prices: new Map(),
      activeVideos: null,
      requestsPerMinute: null,
    });
    expect(toTermsText(readAccountTerms({}))).toBe('{}');
  });

  it('are stored as a text that reads back as the same terms, with decimal strings', () => {
    const terms = readAccountTerms(whole);
    const text = toTermsText(terms);
    expect(parseAccountTerms(text)).toEqual(terms);
    expect(toTermsText(parseAccountTerms(text))).toBe(text);
    expect(JSON.parse(text).prices['textmodel-3.1-pro']).toEqual({
      unit: 'token',
      input_usd_per_1m: '0.90',
      output_usd_per_1m: '5.40',
    });
  });

  it.each([
    ['a member of a newer version', { ...whole, discount: '0.1' }, /discount/],
    ['a price member of a newer version', priceOf({ unit: 'call', price_usd: '1', per: 'week' }), /per/],
    ['a price without its amount', priceOf({ unit: 'call' }), /prices\.imagemodel-1\.0/],
    ['an unknown unit', priceOf({ unit: 'week', price_usd: '1' }), /prices\.imagemodel-1\.0\.unit/],
    ['a negative price', priceOf({ unit: 'call', price_usd: '-0.01' }), /price_usd/],
    ['a price finer than can be paid', priceOf({ unit: 'call', price_usd: '0.0000000001' }), /nano-dollar/],
    ['a SKU named twice', { models: ['a', 'a'] }, /^models: names a SKU twice$/],
    ['a limit of nothing', { requests_per_minute: 0 }, /^requests_per_minute: /],
    ['a limit that is no whole number', { active_videos: 1.5 }, /^active_videos: /],
    ['a list', [], /object/],
    ['no document', null, /object/],
  ])('are refused with %s', (_name, document, message) => {
    expect(refusalOf(() => readAccountTerms(document))).toMatch(message);
  });

  it('are refused if their text is not JSON, or too long', () => {
    expect(refusalOf(() => parseAccountTerms('{"models":'))).toBe('the terms are not JSON');
    const skus = Array.from({ length: 1_000 }, (_, index) => `${index}-${'x'.repeat(100)}`);
    expect(refusalOf(() => toTermsText(readAccountTerms({ models: skus })))).toMatch(/the limit is 65536/);
  });

  it.each([
    [
      'enable a SKU that there is not',
      { models: ['imagemodel-9'] },
      /^models: there is no SKU "imagemodel-9"; known SKUs are textmodel-3\.5-flash, /,
    ],
    [
      'price a SKU that there is not',
      { prices: { nope: { unit: 'call', price_usd: '1' } } },
      /^prices: there is no SKU "nope"/,
    ],
    [
      'price an image by token',
      priceOf({ unit: 'token', input_usd_per_1m: '1', output_usd_per_1m: '1' }),
      /^prices\.imagemodel-1\.0\.unit: a SKU of kind image is priced by call$/,
    ],
  ])('do not fit a gateway where they %s', (_name, document, message) => {
    expect(refusalOf(() => checkAccountTerms(readAccountTerms(document), models))).toMatch(message);
  });
});

function priceOf(price: object): object {
  return { prices: { 'imagemodel-1.0': price } };
}
