import { expect, it } from 'vitest';
import { RpcOutage, RpcRefusal } from '../../../src/payments/core/json-rpc.ts';
import { readRefusal } from '../../../src/payments/refunds/read-refusal.ts';

const refusal = (message: string): string | null => readRefusal(new RpcRefusal(-32_000, message));

it('what a node says against a transaction is told as it is', () => {
  expect(refusal('insufficient funds for gas * price + value')).toBe(
    'insufficient funds for gas * price + value',
  );
});

it('what a node says comes on one short line, without control characters, addresses and bytes', () => {
  const said = `\u001b[31mnonce\r\ntoo\u202e low\u0007 at https://rpc.example/v2/key, 0x${'ab'.repeat(100)} ${'x'.repeat(900)}`;
  const shown = refusal(said);
  expect(shown).toMatch(/^\[31mnonce too low at \(address\) \(bytes\) x+$/);
  expect(shown).toHaveLength(200);
  expect(refusal('\u0000\n')).toBe('error -32000');
});

it.each(['already known', 'AlreadyProcessed', 'This transaction has already been processed'])(
  'a node that says "%s" has the transaction, and refuses nothing',
  (message) => expect(refusal(message)).toBeNull(),
);

it('a node that does not answer refuses nothing, and a fault of ours is no word of a node', () => {
  expect(readRefusal(new RpcOutage('the node did not answer'))).toBeNull();
  expect(() => readRefusal(new TypeError('no hex'))).toThrow('no hex');
});
