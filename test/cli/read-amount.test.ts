import { InvalidArgumentError } from 'commander';
import { assert, bigInt, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { readAmount, readSignedAmount } from '../../src/cli/read-amount.ts';
import { maxEntryAmount } from '../../src/ledger/entry-input.ts';
import { formatUsd } from '../../src/money.ts';

test('every amount up to the most is read back exactly from how it is written', () => {
  assert(
    property(bigInt({ min: 1n, max: maxEntryAmount }), (amount) => {
      expect(readAmount(formatUsd(amount))).toBe(amount);
      expect(readSignedAmount(formatUsd(-amount))).toBe(-amount);
      expect(readSignedAmount(`+${formatUsd(amount)}`)).toBe(amount);
    }),
  );
});

test('whatever else is typed is either an amount within bounds or refused in words', () => {
  assert(
    property(string(), (text) => {
      let amount: bigint;
      try {
        amount = readSignedAmount(text);
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidArgumentError);
        return;
      }
      expect(text).toMatch(/^[+-]?\d+(\.\d+)?$/);
      expect(amount === 0n || amount > maxEntryAmount || amount < -maxEntryAmount).toBe(false);
    }),
  );
});

test.each(['', '-', '1.', '.5', '1e3', '1,000.00', '$5', '5 USD', '0x10', '+-5', '--5', '0.0000000001'])(
  '%j is not an amount',
  (text) => {
    expect(() => readAmount(text)).toThrow(InvalidArgumentError);
    expect(() => readSignedAmount(text)).toThrow(InvalidArgumentError);
  },
);
