import { InvalidArgumentError } from 'commander';
import { maxEntryAmount } from '../ledger/entries.ts';
import { formatUsd, parseUsd, type Nano } from '../kit/money.ts';

const form = 'Write US dollars with a point and at most nine decimals, such as 12.50';

/** An amount above zero. Throws commander's InvalidArgumentError, which says what is expected. */
export const readAmount = (text: string): Nano => {
  const amount = readDecimal(text, `${form}.`);
  if (amount <= 0n) throw new InvalidArgumentError('The amount must be above zero.');
  return amount;
};

/** An amount with a sign, `-5.00`, `5.00` or `+5.00`; not zero. Throws InvalidArgumentError. */
export const readSignedAmount = (text: string): Nano => {
  const amount = readDecimal(text.replace(/^\+(?=\d)/, ''), signedForm);
  if (amount === 0n) throw new InvalidArgumentError('An adjustment of zero changes nothing.');
  return amount;
};

export const signedForm = `${form} or -12.50.`;

const readDecimal = (text: string, expected: string): Nano => {
  let amount: Nano;
  try {
    amount = parseUsd(text);
  } catch (error) {
    if (error instanceof RangeError) throw new InvalidArgumentError(expected);
    throw error;
  }
  if (amount > maxEntryAmount || amount < -maxEntryAmount)
    throw new InvalidArgumentError(`One entry moves at most ${formatUsd(maxEntryAmount)} USD.`);
  return amount;
};
