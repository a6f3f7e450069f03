import { expect, it } from 'vitest';
import { RpcOutage, RpcRefusal } from '../../../../src/payments/chains/core/json-rpc.ts';
import { readRefusal } from '../../../../src/payments/chains/core/refund-transfer.ts';

const refusal = (message: string): Promise<string | null> =>
  readRefusal(Promise.reject(new RpcRefusal(-32_000, message)));

it('what a node says against a transaction is told as it is', async () => {
  expect(await refusal('insufficient funds for gas * price + value')).toBe(
    'insufficient funds for gas * price + value',
  );
});

it('what a node says comes on one short line, without control characters, addresses and bytes', async () => {
  const said = `\u001b[31mnonce\r\ntoo\u202e low\u0007 at https://rpc.example/v2/key, 0x${'ab'.repeat(100)} ${'x'.repeat(900)}`;
  const shown = await refusal(said);
  expect(shown).toMatch(/^\[31mnonce too low at \(address\) \(bytes\) x+$/);
  expect(shown).toHaveLength(200);
  expect(await refusal('\u0000\n')).toBe('error -32000');
});

it.each(['already known', 'AlreadyProcessed', 'This transaction has already been processed'])(
  'a node that says "%s" has the transaction, and refuses nothing',
  async (message) => expect(await refusal(message)).toBeNull(),
);

it('a node that does not answer refuses nothing, and a fault of ours is no word of a node', async () => {
  expect(await readRefusal(Promise.reject(new RpcOutage('the node did not answer')))).toBeNull();
  await expect(readRefusal(Promise.reject(new TypeError('no hex')))).rejects.toThrow('no hex');
});
