import { existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import { buildFictional } from '../../../src/leads/sqlite/build-fictional.ts';
import { lockProfiles, readManifest } from '../../../src/leads/sqlite/profiles-folder.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leads-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const build = (profiles: number, signal = new AbortController().signal): Promise<void> =>
  buildFictional(folder, { set: { seed: 1, profiles }, log: silentLog, signal });
const filesLike = (pattern: RegExp): string[] => readdirSync(folder).filter((name) => pattern.test(name));

describe('a build of fictional profiles', () => {
  it('replaces the former set, and leaves no other files', async () => {
    await build(30);
    await build(40);
    const manifest = readManifest(folder);
    expect(manifest).toMatchObject({ profiles: 40, fictional: expect.stringContaining('40 profiles') });
    expect(new Set(await readdir(folder))).toEqual(new Set(['current.json', manifest?.file, 'keeper.lock']));
  });

  it('is ended by an abort, and leaves nothing', async () => {
    const abort = new AbortController();
    const building = build(1_000_000, abort.signal);
    const ended = Promise.allSettled([building]);
    await expect.poll(() => filesLike(/^building-/)).toHaveLength(1);
    abort.abort(new Error('no longer wanted'));
    expect(await ended).toMatchObject([{ reason: { message: 'no longer wanted' } }]);
    expect(await readdir(folder)).toEqual([]);
  });

  it('reports why it failed', async () => {
    // A folder in place of the manifest cannot be replaced by a file.
    await mkdir(join(folder, 'current.json', 'in the way'), { recursive: true });
    await expect(build(30)).rejects.toThrow('the fictional profiles were not made: ');
    expect(filesLike(/\.db$/).filter((name) => name.startsWith('building-'))).toEqual([]);
  });

  it('does not replace real profiles, whether a manifest names them or not', async () => {
    await build(30);
    const restored = join(folder, 'profiles-0123.db');
    writeFileSync(restored, 'half of a backup');
    const manifest = readManifest(folder);
    await build(40);
    expect(readManifest(folder)).toEqual(manifest);
    rmSync(join(folder, 'current.json'));
    await build(50);
    expect([existsSync(restored), readManifest(folder)]).toEqual([true, null]);
  });

  it('removes the sets of killed builds, but not that of a running one', async () => {
    for (const name of ['building-01.db', 'building-02.db']) writeFileSync(join(folder, name), 'unfinished');
    utimesSync(join(folder, 'building-01.db'), 0, 0);
    writeFileSync(join(folder, 'fictional-03.db'), 'not published');
    await build(30);
    expect(filesLike(/-0\d\.db$/)).toEqual(['building-02.db']);
  });

  it('waits for a running change', async () => {
    const lock = lockProfiles(folder);
    let isMade = false;
    const making = build(30).then(() => (isMade = true));
    await expect.poll(() => filesLike(/^building-/)).toHaveLength(1);
    await delay(300);
    expect([isMade, readManifest(folder)]).toEqual([false, null]);
    lock.close();
    await making;
    expect(readManifest(folder)).toMatchObject({ profiles: 30 });
  });
});
