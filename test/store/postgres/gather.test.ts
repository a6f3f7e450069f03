import { DatabaseError } from 'pg';
import { expect, it } from 'vitest';
import { createGatherer } from '../../../src/store/postgres/engine.ts';
import { statement, type SqlValue } from '../../../src/store/statement.ts';

const any = statement({ gathers: () => '', text: '', values: () => [], read: () => null });

/** A server that answers each command with its own value. It refuses a group with the value `bad`. */
const createServer = (refusal: Error) => {
  const groups: SqlValue[][] = [];
  const runGroup = async (_: unknown, values: SqlValue[][]): Promise<unknown[][]> => {
    const group = values.flat();
    groups.push(group);
    await new Promise((resolve) => setImmediate(resolve));
    if (group.includes('bad')) throw refusal;
    return group.map((value) => [value]);
  };
  const gather = createGatherer({
    runGroup,
    runAlone: async (any, { values }) => (await runGroup(any, [values]))[0] ?? [],
  });
  return { groups, send: (value: string) => gather(any, { values: [value], accountId: '' }) };
};

const refused = new DatabaseError('refused', 0, 'error');

it('commands that begin at the same moment go together, and later ones when those are answered', async () => {
  const { groups, send } = createServer(refused);
  const later = send('a').then(() => Promise.all([send('d'), send('e')]));
  const meanwhile = new Promise((resolve) => setImmediate(resolve)).then(() => send('c'));
  expect(await Promise.all([send('b'), meanwhile, later])).toEqual([['b'], ['c'], [['d'], ['e']]]);
  expect(groups).toEqual([
    ['a', 'b'],
    ['c', 'd', 'e'],
  ]);
});

it('a command that the server refuses fails alone', async () => {
  const { groups, send } = createServer(refused);
  expect(await Promise.allSettled([send('bad'), send('a'), send('b')])).toEqual([
    { status: 'rejected', reason: refused },
    { status: 'fulfilled', value: ['a'] },
    { status: 'fulfilled', value: ['b'] },
  ]);
  expect(groups).toEqual([['bad', 'a', 'b'], ['bad'], ['a'], ['b']]);
});

it('a group whose outcome is unknown is not sent again', async () => {
  const { groups, send } = createServer(new Error('the connection broke'));
  await Promise.all(['bad', 'a'].map((value) => expect(send(value)).rejects.toThrow('the connection broke')));
  expect(groups).toEqual([['bad', 'a']]);
  expect(await send('b')).toEqual(['b']);
});

it('a group that ended with its connection is not sent again, because it may be committed', async () => {
  const lost = Object.assign(new DatabaseError('server conn crashed?', 0, 'error'), { code: '08P01' });
  const { groups, send } = createServer(lost);
  await Promise.all(['bad', 'a'].map((value) => expect(send(value)).rejects.toBe(lost)));
  expect(groups).toEqual([['bad', 'a']]);
});

it('a group takes no further command when it has four million characters', async () => {
  const { groups, send } = createServer(refused);
  const long = 'x'.repeat(2_000_000);
  await Promise.all([send(long), send(long), send('a'), send('b')]);
  expect(groups.map((group) => group.length)).toEqual([2, 2]);
});
