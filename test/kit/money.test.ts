import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatRate,
  formatUsd,
  parseRate,
  parseUsd,
  priceAtRates,
  unitsAffordable,
  type Rate,
} from '../../src/kit/money.ts';

const amounts = fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n });
const rates: fc.Arbitrary<Rate> = fc.record({
  unscaled: fc.bigInt({ min: 0n, max: 10n ** 9n }),
  scale: fc.integer({ min: 0, max: 12 }),
});

describe('amounts on the wire', () => {
  it.each([
    [0n, '0.00'],
    [630_000n, '0.00063'],
    [12_500_000_000n, '12.50'],
    [1n, '0.000000001'],
    [-5_000_000_000n, '-5.00'],
  ])('writes %s nano-dollars as %s', (amount, text) => {
    expect(formatUsd(amount)).toBe(text);
  });

  it('reads back every amount that it writes', () => {
    fc.assert(
      fc.property(amounts, (amount) => {
        expect(parseUsd(formatUsd(amount))).toBe(amount);
      }),
    );
  });

  it('writes at least two decimals, no exponent, and no trailing zeros past them', () => {
    fc.assert(
      fc.property(amounts, (amount) => {
        expect(formatUsd(amount)).toMatch(/^-?\d+\.(\d\d|\d{2,8}[1-9])$/);
      }),
    );
  });

  it.each(['', ' 1', '1e5', '0x10', '1.', '.5', '1,00', '1.0000000001', '--1', 'NaN', '١'])(
    'refuses %j as an amount',
    (text) => {
      expect(() => parseUsd(text)).toThrow(RangeError);
    },
  );
});

describe('rates', () => {
  it.each(['1.05', '0.175', '6.30', '2.625', '0.00', '12.00'])(
    'writes the rate %s as it was read',
    (text) => {
      expect(formatRate(parseRate(text))).toBe(text);
    },
  );

  it('keeps every rate exact through its wire form', () => {
    fc.assert(
      fc.property(rates, (rate) => {
        const again = parseRate(formatRate(rate));
        expect(again.unscaled * 10n ** BigInt(rate.scale)).toBe(rate.unscaled * 10n ** BigInt(again.scale));
      }),
    );
  });

  it('refuses a negative rate', () => {
    expect(() => parseRate('-1.00')).toThrow(RangeError);
  });
});

describe('prices', () => {
  it('sums the lines of a call exactly', () => {
    const price = priceAtRates([
      { units: 1000, rate: parseRate('0.175') },
      { units: 500, rate: parseRate('1.05') },
    ]);
    expect(formatUsd(price)).toBe('0.0007');
  });

  it('rounds up once, at the end', () => {
    const fine: Rate = { unscaled: 1n, scale: 4 };
    expect(priceAtRates([{ units: 1, rate: fine }])).toBe(1n);
    expect(
      priceAtRates([
        { units: 5, rate: fine },
        { units: 5, rate: fine },
      ]),
    ).toBe(1n);
    expect(priceAtRates([{ units: 0, rate: fine }])).toBe(0n);
  });

  it('never sells below the exact price, nor a nano-dollar above it', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ units: fc.nat(10 ** 7), rate: rates }), { maxLength: 4 }), (lines) => {
        const scaled = 10n ** 12n;
        const exact = lines.reduce(
          (sum, { units, rate }) =>
            sum + (BigInt(units) * rate.unscaled * 1000n * scaled) / 10n ** BigInt(rate.scale),
          0n,
        );
        const price = priceAtRates(lines) * scaled;
        expect(price >= exact).toBe(true);
        expect(price - exact < scaled).toBe(true);
      }),
    );
  });

  it('affords as many units as the budget pays for, and not one more', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 12n }), rates, (budget, rate) => {
        fc.pre(rate.unscaled > 0n);
        const units = unitsAffordable(budget, rate);
        fc.pre(units < Number.MAX_SAFE_INTEGER);
        expect(priceAtRates([{ units, rate }]) <= budget).toBe(true);
        expect(priceAtRates([{ units: units + 1, rate }]) > budget).toBe(true);
      }),
    );
  });
});
