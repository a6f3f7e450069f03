import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { groupCommit } from '../../../src/store/sqlite/connection.ts';
import type { Command, Request } from '../../../src/store/sqlite/messages.ts';

/** Each request inserts its input as a child of the parent with that number; only the COMMIT checks the parent. */
describe('a group commit', () => {
  let database: DatabaseSync;
  beforeEach(() => {
    database = new DatabaseSync(':memory:', { enableForeignKeyConstraints: true });
    database.exec(`create table parent (id integer primary key);
      create table child (id integer primary key references parent (id) deferrable initially deferred);
      insert into parent values (1), (2), (3)`);
  });
  afterEach(() => database.close());

  const insert = ({ input }: Command): unknown => {
    const id = Number(input);
    database.prepare('insert into child values (?)').run(id);
    if (id === 2) throw new Error('two is refused after it was written');
    return id * 10;
  };
  const requests = (...inputs: number[]): Request[] =>
    inputs.map((input, index) => ({ id: 100 + index, input: { name: 'ping', input } }));
  const stored = () =>
    database
      .prepare('select id from child order by id')
      .all()
      .map(({ id }) => id);

  it('undoes only the command that failed', () => {
    expect(groupCommit(database, insert)(requests(1, 2, 3))).toEqual([
      { id: 100, output: { value: 10 } },
      { id: 101, output: { failure: 'two is refused after it was written', reason: 'failed' } },
      { id: 102, output: { value: 30 } },
    ]);
    expect(stored()).toEqual([1, 3]);
  });

  it('rejects every command if the COMMIT fails, keeps nothing and continues with the next group', () => {
    const commit = groupCommit(database, insert);
    const replies = commit(requests(1, 99, 3));
    expect(replies).toHaveLength(3);
    for (const reply of replies)
      expect(reply).toMatchObject({
        output: { failure: expect.stringContaining('FOREIGN KEY constraint failed') },
      });
    expect(stored()).toEqual([]);
    expect(commit(requests(1))).toEqual([{ id: 100, output: { value: 10 } }]);
    expect(stored()).toEqual([1]);
  });

  it('rejects every command if one ends the whole transaction', () => {
    const commit = groupCommit(database, (command) => {
      const value = insert(command);
      if (command.input === 3) {
        database.exec('rollback');
        throw new Error('the disk is full');
      }
      return value;
    });
    expect(commit(requests(1, 3))).toEqual([
      { id: 100, output: { failure: 'the disk is full', reason: 'failed' } },
      { id: 101, output: { failure: 'the disk is full', reason: 'failed' } },
    ]);
    expect(stored()).toEqual([]);
  });
});
