import {
  appendPaymentIdentifierToExtensions,
  extractAndValidatePaymentIdentifier,
  isPaymentIdentifierRequired,
  validatePaymentIdentifier,
} from '@x402/extensions/payment-identifier';
import { describe, expect, it } from 'vitest';
import {
  paymentIdentifier,
  paymentIdentifierDeclaration,
  readPaymentIdentifier,
} from '../../../src/payments/wire/extensions.ts';

const withId = (id: unknown) => ({ [paymentIdentifier]: { info: { required: false, id } } });

describe('the declaration of payment identifiers', () => {
  it('is one that the x402 package accepts, and requires nothing', () => {
    expect(validatePaymentIdentifier(paymentIdentifierDeclaration)).toEqual({ valid: true });
    expect(isPaymentIdentifierRequired(paymentIdentifierDeclaration)).toBe(false);
  });

  it('is filled in by the x402 package with an id that is read as it was written', () => {
    const declared = { [paymentIdentifier]: structuredClone(paymentIdentifierDeclaration) };
    const extensions = appendPaymentIdentifierToExtensions(declared, 'pay_0123456789abcdef');
    expect(readPaymentIdentifier(extensions)).toBe('pay_0123456789abcdef');
    expect(extractAndValidatePaymentIdentifier({ extensions } as never)).toEqual({
      id: 'pay_0123456789abcdef',
      validation: { valid: true },
    });
  });
});

describe('a payment identifier', () => {
  it.each([16, 128])('of %i characters is taken', (length) => {
    const id = '-_aZ09'.repeat(30).slice(0, length);
    expect(readPaymentIdentifier(withId(id))).toBe(id);
  });

  it.each([
    ['short', 'a'.repeat(15)],
    ['long', 'a'.repeat(129)],
    ['with a space', 'pay 0123456789abcdef'],
    ['with a line break at its end', 'pay_0123456789abcdef\n'],
    ['with another letter', 'päy_0123456789abcdef'],
    ['a number', 1_234_567_890_123_456],
    ['null', null],
  ])('that is %s is refused as a malformed payment', (_what, id) => {
    expect(() => readPaymentIdentifier(withId(id))).toThrow(
      expect.objectContaining({ code: 'invalid_payment', status: 400 }),
    );
  });

  it.each([['text'], [null], [[]], [{}], [{ info: null }]])('in %j is refused', (extension) => {
    expect(() => readPaymentIdentifier({ [paymentIdentifier]: extension })).toThrow(
      expect.objectContaining({ code: 'invalid_payment' }),
    );
  });

  it.each([
    [undefined],
    [null],
    [[]],
    [{}],
    [{ bazaar: { info: {} } }],
    [{ [paymentIdentifier]: paymentIdentifierDeclaration }],
  ])('is not in %j', (extensions) => {
    expect(readPaymentIdentifier(extensions)).toBeNull();
  });
});
