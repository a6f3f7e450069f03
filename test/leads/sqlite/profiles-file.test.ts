import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StatementSync, type DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Lead } from '../../../src/leads/lead-source.ts';
import {
  copyProfiles,
  createSearch,
  createWriter,
  deletePeople,
  openToRead,
  openToWrite,
  ProfilesDamagedError,
  scanLeads,
} from '../../../src/leads/sqlite/profiles-file.ts';
import { buildLead } from '../build-lead.ts';

let folder: string;
let file: string;
let database: DatabaseSync;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-profiles-'));
  file = join(folder, 'profiles.db');
  database = openToWrite(file, { isNew: true });
});
afterEach(async () => {
  if (database.isOpen) database.close();
  await rm(folder, { recursive: true });
});

const idsIn = (from: DatabaseSync): number[] =>
  from
    .prepare('SELECT id FROM people ORDER BY id')
    .all()
    .map(({ id }) => Number(id));

/** More pages than are copied at once. */
const many = Array.from({ length: 2_000 }, (_, index) =>
  buildLead({ username: `user${index}`, followers: index, bio: 'z'.repeat(400) }),
);

describe('a copy of profiles', () => {
  const to = (): string => join(folder, 'copy.db');

  it('has their row ids, settings and index', async () => {
    createWriter(database, 1)([...many, buildLead()]);
    await copyProfiles(file, to());
    using copy = openToRead(to(), { timeoutMs: 0 });
    expect(idsIn(copy)).toEqual(idsIn(database));
    expect([...scanLeads(copy)]).toHaveLength(2_001);
    for (const setting of ['page_size', 'journal_mode', 'user_version'])
      expect(copy.prepare(`PRAGMA ${setting}`).get()).toEqual(database.prepare(`PRAGMA ${setting}`).get());
    createWriter(copy, 2)([buildLead({ followers: 5 })]);
    copy.exec(`INSERT INTO words (words) VALUES ('integrity-check')`);
  });

  it('leaves a deletion of this process its lock against other processes', async () => {
    createWriter(database, 1)([buildLead()]);
    database.exec('BEGIN IMMEDIATE');
    await copyProfiles(file, to());
    const lock = `new (require('node:sqlite').DatabaseSync)(process.argv[1]).exec('BEGIN IMMEDIATE')`;
    await expect(promisify(execFile)(process.execPath, ['-e', lock, file])).rejects.toThrow('is locked');
  });

  it('holds off no deletion, and has nobody who was deleted meanwhile', async () => {
    createWriter(database, 1)(many);
    const { signal } = new AbortController();
    const steps = vi.spyOn(signal, 'throwIfAborted').mockImplementationOnce(() => {
      using deletion = openToRead(file, { timeoutMs: 0 });
      deletePeople(deletion, ['user7', 'user1999']);
    });
    await copyProfiles(file, to(), signal);
    expect(steps.mock.calls.length).toBeGreaterThan(1);
    using copy = openToRead(to(), { timeoutMs: 0 });
    expect(idsIn(copy)).toEqual(idsIn(database));
    expect(idsIn(copy)).toHaveLength(1_998);
    copy.exec(`INSERT INTO words (words) VALUES ('integrity-check')`);
  });

  it('ends with the reason of its signal', async () => {
    createWriter(database, 1)(many);
    await expect(copyProfiles(file, to(), AbortSignal.abort(new Error('no room')))).rejects.toThrow(
      'no room',
    );
  });
});

describe('profiles with equally many followers', () => {
  const { followers } = buildLead();
  const named = (...names: string[]): Lead[] => names.map((username) => buildLead({ username }));

  it('take the row ids of those that later imports replaced when the last id is used', () => {
    createWriter(
      database,
      1,
    )([...named('a', 'b', 'c'), buildLead({ username: 'next', followers: followers - 1 })]);
    const [first = 0] = idsIn(database);
    const last = first + 2 ** 21 - 1;
    database.exec(`UPDATE people SET id = ${last} WHERE key = 'c'`);
    for (let number = 2; number < 9; number += 1) {
      createWriter(database, number)(named('b', 'd', 'e'));
      createWriter(database, number)(named('a'));
    }
    expect(idsIn(database)).toEqual([first, first + 1, first + 2, first + 3, last, last + 1]);
    expect(createSearch(database)({ limit: 9 }).map(({ username }) => username)).toEqual([
      ...['a', 'b', 'c', 'd', 'e', 'next'],
    ]);
    for (const query of ['a', 'b', 'd', 'e'])
      expect(createSearch(database)({ query, limit: 9 })).toMatchObject([{ username: query }]);
  });

  it('are found once each behind a cursor that has more followers than anybody', () => {
    const most = 2 ** 31 - 1;
    createWriter(database, 1)(['a', 'b'].map((username) => buildLead({ username, followers: most })));
    const after = { followers: most + 1, username: '0' };
    expect(createSearch(database)({ after, limit: 9 }).map(({ username }) => username)).toEqual(['a', 'b']);
  });
});

describe('a search', () => {
  const named = ['a', 'b', 'c'].map((username, index) => buildLead({ username, followers: 9 - index }));

  it('leaves out somebody who is deleted between its steps', () => {
    createWriter(database, 1)(named);
    using reader = openToRead(file, { timeoutMs: 0 });
    const search = createSearch(reader);
    const { all } = StatementSync.prototype;
    let steps = 0;
    vi.spyOn(StatementSync.prototype, 'all').mockImplementation(function step(
      this: StatementSync,
      ...values
    ) {
      const rows = all.apply(this, values);
      steps += 1;
      if (steps === 1) deletePeople(database, ['b']);
      return rows;
    });
    expect(search({ limit: 9 }).map(({ username }) => username)).toEqual(['a', 'c']);
  });

  it('tells a profile that cannot be read as damage', () => {
    createWriter(database, 1)(named);
    database.exec(`UPDATE people SET lead = 'torn' WHERE key = 'b'`);
    expect(() => createSearch(database)({ limit: 9 })).toThrow(ProfilesDamagedError);
  });
});
