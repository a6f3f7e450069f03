import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import { runBuild } from '../../../src/leads/embedded/build/run-build.ts';
import { readManifest } from '../../../src/leads/embedded/manifest.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leads-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const build = (profiles: number, limits: Partial<{ timeoutMs: number; signal: AbortSignal }> = {}) =>
  runBuild({
    folder,
    synthetic: { seed: 1, profiles },
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    log: silentLog,
    ...limits,
  });

describe('the process that makes fictional profiles', () => {
  it('leaves the profiles and no other files', async () => {
    await build(30);
    const base = readManifest(folder)?.base;
    expect(base?.profiles).toBe(30);
    expect(new Set(await readdir(folder))).toEqual(new Set(['current.json', base?.file, 'keeper.lock']));
  });

  it('is ended when its time is over, and leaves nothing', async () => {
    await expect(build(1_000_000, { timeoutMs: 500 })).rejects.toThrow('its process ended with SIGKILL');
    expect(await readdir(folder)).toEqual([]);
  });

  it('is ended by an abort, and leaves nothing', async () => {
    const abort = new AbortController();
    const building = build(1_000_000, { signal: abort.signal });
    setTimeout(() => abort.abort(new Error('no longer wanted')), 500);
    await expect(building).rejects.toThrow('no longer wanted');
    expect(await readdir(folder)).toEqual([]);
  });

  it('reports why it failed', async () => {
    await build(30);
    const base = readManifest(folder)?.base.file ?? '';
    // A folder in place of the manifest cannot be replaced by a file.
    await rm(join(folder, 'current.json'));
    await rm(join(folder, base));
    await mkdir(join(folder, 'current.json', 'in the way'), { recursive: true });
    await expect(build(30)).rejects.toThrow('the fictional profiles were not made: ');
  });
});
