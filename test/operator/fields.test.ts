import { assert, bigInt, oneof, property, string, stringMatching } from 'fast-check';
import { expect, test } from 'vitest';
import { positiveAmount, signedAmount } from '../../src/operator/fields.ts';
import { maxEntryAmount } from '../../src/accounts/ledger/entries.ts';
import { formatUsd } from '../../src/kit/money.ts';

test('every amount up to the most is read back exactly from how it is written', () => {
  assert(
    property(bigInt({ min: 1n, max: maxEntryAmount }), (amount) => {
      expect(positiveAmount.parse(formatUsd(amount))).toBe(amount);
      expect(signedAmount.parse(formatUsd(-amount))).toBe(-amount);
      expect(signedAmount.parse(`+${formatUsd(amount)}`)).toBe(amount);
    }),
  );
});

const amountOrRefusal = (text: string): bigint | string => {
  const { data, error } = signedAmount.safeParse(text);
  return data ?? error?.issues[0]?.message ?? '';
};

test('whatever is typed is an amount within bounds, plainly written, or is refused in words', () => {
  const isPlain = (text: string, amount: bigint): boolean =>
    /^[+-]?\d+(\.\d+)?$/.test(text) && amount !== 0n && amount <= maxEntryAmount && amount >= -maxEntryAmount;
  const digits = stringMatching(/^[+-]?\d{0,9}[.,]?\d{0,11}$/);
  assert(
    property(oneof(string(), digits), (text) => {
      const read = amountOrRefusal(text);
      expect(typeof read === 'bigint' ? isPlain(text, read) : read.startsWith('must ')).toBe(true);
    }),
  );
});

test.each(['', '-', '1.', '.5', '1e3', '1,000.00', '$5', '5 USD', '0x10', '+-5', '--5', '0.0000000001'])(
  '%j is not an amount',
  (text) => {
    expect(positiveAmount.safeParse(text).success).toBe(false);
    expect(signedAmount.safeParse(text).success).toBe(false);
  },
);
