import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { LeadIndex } from '../../../src/leads/lead-index.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import type { DiskRoom } from '../../../src/leads/sqlite/disk-room.ts';
import { openSqliteIndex } from '../../../src/leads/sqlite/open-sqlite-index.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { buildLead } from '../build-lead.ts';
import { leadInputOf, type LeadInputOptions } from '../lead-input-of.ts';
import { createSqliteProfiles, type SqliteProfiles } from './create-sqlite-profiles.ts';

const { signal } = new AbortController();
const leads = [...generateLeads({ seed: 3, profiles: 300 })];

let made: SqliteProfiles;
let folder: string;
beforeEach(async () => {
  made = await createSqliteProfiles();
  ({ folder } = made);
});
afterEach(() => made.remove());

const open = (): Promise<LeadIndex> => made.openKeeper();

const filesLike = (pattern: RegExp): string[] => readdirSync(folder).filter((name) => pattern.test(name));

describe('a keeper on a disk that fills up', () => {
  const roomy: DiskRoom = { free: 90e9, whole: 100e9 };
  const scarce: DiskRoom = { free: 255e6, whole: 100e9 };
  const importWith = async (
    readRoom: () => DiskRoom | null,
    input: LeadInputOptions = {},
    mode: 'upsert' | 'replace' = 'upsert',
  ) => {
    const keeper = await openSqliteIndex({ folder, people: made.people, readRoom });
    return keeper.importLeads({ signal, mode, input: leadInputOf(leads, input) });
  };
  /** While it holds, whatever SQLite commits to the files that `isFull` picks finds no room. */
  const fillDisk = (isFull: (file: string) => boolean): { clear(): void } => {
    const exec = DatabaseSync.prototype.exec;
    const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
      this: DatabaseSync,
      sql,
    ) {
      if (sql === 'COMMIT' && isFull(this.location() ?? ''))
        throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
      exec.call(this, sql);
    });
    onTestFinished(() => spy.mockRestore());
    return { clear: () => spy.mockRestore() };
  };

  it('leaves the disk space that a gateway needs', async () => {
    await expect(importWith(() => scarce)).rejects.toMatchObject({
      problem: 'failed',
      message: `There is not enough free space on the disk of ${folder}: 255 MB are free, and 256 MB are reserved for the gateway. Nothing is lost. Free some space and try again.`,
    });
    expect(filesLike(/^(?:next|profiles)-/)).toEqual([]);
    const small = { free: 41e6, whole: 800e6 };
    expect(await importWith(() => small)).toMatchObject({ profiles: 300 });
  });

  it('refuses to add to profiles whose copy would use up the reserve, but replaces them', async () => {
    await made.take(leads);
    const full: DiskRoom = { free: 256e6 + statSync(made.file()).size - 1, whole: 100e9 };
    await expect(importWith(() => full)).rejects.toThrow('256 MB are reserved for the gateway');
    expect(await importWith(() => full, {}, 'replace')).toMatchObject({ profiles: 300 });
    expect(await importWith(() => ({ ...full, free: full.free + 1 }))).toMatchObject({ updated: 300 });
  });

  it('imports profiles if the free space is unknown', async () => {
    expect(await importWith(() => null)).toMatchObject({ profiles: 300 });
  });

  it('stops an import that would use up the reserve', async () => {
    let isScarce = false;
    const beforeBatch = async (row: number): Promise<void> => {
      if (row < 100) return;
      isScarce = true;
      // The free space is looked at meanwhile.
      await new Promise((resolve) => setTimeout(resolve, 200));
    };
    const importing = importWith(() => (isScarce ? scarce : roomy), { beforeBatch });
    await expect(importing).rejects.toThrow('not enough free space');
    expect(filesLike(/^(?:next|profiles)-/)).toEqual([]);
  });

  it('reports a full disk that its input finds', async () => {
    const full = Object.assign(new Error('write ENOSPC'), { code: 'ENOSPC' });
    const beforeBatch = (done: number): Promise<void> =>
      done > 0 ? Promise.reject(full) : Promise.resolve();
    await expect(made.take(leads, { input: { beforeBatch } })).rejects.toThrow(
      'not enough free space on the disk',
    );
  });

  it.each<{ what: string; before: readonly Lead[] }>([
    { what: 'the first profiles', before: [] },
    { what: 'more profiles', before: [buildLead()] },
  ])('frees its file when it cannot write it ($what)', async ({ before }) => {
    await made.take(before);
    const files = filesLike(/\.db$/);
    const disk = fillDisk((file) => file.includes('/next-'));
    await expect(made.take(leads)).rejects.toThrow('not enough free space');
    disk.clear();
    expect(filesLike(/\.db/)).toEqual(files);
    await made.take(leads);
    expect(await made.exported()).toHaveLength(300 + before.length);
  });

  it('reports a full disk when forgetting people, who are not found any more', async () => {
    await made.take(leads);
    const disk = fillDisk((file) => file.includes('/profiles-'));
    const keeper = await open();
    await expect(keeper.forget([leads[0]!.username], { signal })).rejects.toThrow(
      /^There is not enough free space on the disk of .* Searches no longer find these people, .*still on the disk\. Run the command again\.$/,
    );
    expect(await keeper.stats()).toMatchObject({ profiles: 300, forgotten: 1 });
    disk.clear();
    expect(await keeper.forget([leads[0]!.username], { signal })).toEqual({ removed: 1 });
    expect(await made.exported()).toHaveLength(299);
  });

  it('takes its lock without writing', async () => {
    const seen: string[][] = [];
    await made.take(leads, { input: { beforeBatch: () => void seen.push(filesLike(/^keeper/)) } });
    expect(new Set(seen.flat())).toEqual(new Set(['keeper.lock']));
    expect(statSync(join(folder, 'keeper.lock')).size).toBe(0);
  });
});
