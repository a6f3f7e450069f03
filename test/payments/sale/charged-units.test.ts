import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toChargedUnits } from '../../../src/payments/sale/scheme.ts';

it('charges what was used, rounded up to the smallest unit of the token, and never more than was signed', () => {
  fc.assert(
    fc.property(
      fc.bigInt(0n, 10n ** 12n),
      fc.bigInt(0n, 10n ** 12n),
      fc.constantFrom(6, 9, 18),
      (used, signed, decimals) => {
        const toNano = (units: bigint): bigint => (units * 10n ** 9n) / 10n ** BigInt(decimals);
        const most = (signed * 10n ** BigInt(decimals)) / 10n ** 9n;
        const units = toChargedUnits(used, { decimals, most });
        expect(units).toBeLessThanOrEqual(most);
        if (units < most) {
          expect(toNano(units)).toBeGreaterThanOrEqual(used);
          expect(toNano(units - 1n) < used || used === 0n).toBe(true);
        }
      },
    ),
  );
});
