import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createWriter } from '../../../src/store/sqlite/connection.ts';
import { migrateDatabase, openDatabase } from '../../../src/store/sqlite/database.ts';
import type { Command, Reply } from '../../../src/store/sqlite/messages.ts';

describe('the writer of a file that cannot grow', () => {
  let folder: string;
  let database: DatabaseSync;
  let run: (...commands: Command[]) => Reply[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'causeway-writer-'));
    database = openDatabase({ file: join(folder, 'store.sqlite'), busyTimeoutMs: 1_000 });
    migrateDatabase(database, 1_000);
    let replies: Reply[] = [];
    const writer = createWriter(database, (sent) => replies.push(...sent));
    run = (...commands) => {
      replies = [];
      writer.take(commands.map((input, id) => ({ id, input })));
      writer.drain();
      return replies.sort((a, b) => a.id - b.id);
    };
  });
  afterEach(async () => {
    database.close();
    await rm(folder, { recursive: true, force: true });
  });

  const growAtMostTo = (pages: number): void => database.exec(`pragma max_page_count = ${pages}`);
  const probe = { name: 'probe', input: undefined } as const;
  const secret = (value: string) => ({ name: 'getOrCreateSecret', input: { name: value, value } }) as const;
  const full = (id: number): unknown => ({
    id,
    output: { failure: expect.stringContaining('full'), reason: 'full' },
  });

  it('rejects probes and commands as full, and works again when there is space', () => {
    expect(run(probe, secret('a'))).toEqual([
      { id: 0, output: { value: null } },
      { id: 1, output: { value: 'a' } },
    ]);
    growAtMostTo(1);
    expect(run(secret('b'.repeat(100_000)))).toEqual([full(0)]);
    // What was freed by a probe is room for the next one, until something else takes it.
    run(secret('c'.repeat(10_000)));
    expect(run(probe)).toEqual([full(0)]);
    growAtMostTo(10_000);
    expect(run(probe)).toEqual([{ id: 0, output: { value: null } }]);
  });

  it('does not lose a command that fits because of a probe that does not', () => {
    growAtMostTo(1);
    expect(run(secret('small'), probe, secret('another'))).toEqual([
      { id: 0, output: { value: 'small' } },
      full(1),
      { id: 2, output: { value: 'another' } },
    ]);
  });

  it('keeps no more than one probe in the file', () => {
    for (let count = 0; count < 5; count += 1) run(probe, probe);
    expect(database.prepare('select count(*) as kept from write_probe').get()).toEqual({ kept: 1 });
  });
});
