import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inventProfiles } from '../../../src/leads/embedded/build/invent-profiles.ts';
import { lockKeeper } from '../../../src/leads/embedded/keeper-lock.ts';
import { readManifest, writeManifest } from '../../../src/leads/embedded/manifest.ts';
import { openEmbeddedKeeper } from '../../../src/leads/embedded/open-embedded-keeper.ts';
import { buildLead } from '../build-lead.ts';
import { leadInputOf } from './lead-input-of.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leads-'));
});
afterEach(() => rm(folder, { recursive: true }));

const invent = (profiles: number): Promise<number | null> => {
  const scratch = join(folder, 'building-test');
  mkdirSync(scratch, { recursive: true });
  return inventProfiles({ folder, scratch, synthetic: { seed: 1, profiles } });
};

describe('the making of fictional profiles', () => {
  it('replaces the former set', async () => {
    expect(await invent(30)).toBe(30);
    expect(await invent(40)).toBe(40);
    expect(readManifest(folder)).toMatchObject({ synthetic: true, base: { profiles: 40 } });
    expect(readdirSync(folder).filter((name) => /^(?:base|fictional)-/.test(name))).toHaveLength(1);
  });

  it('does not replace real profiles that came before its end', async () => {
    const keeper = await openEmbeddedKeeper({ folder });
    const input = leadInputOf([buildLead()]);
    await keeper.importLeads({ input, mode: 'upsert', signal: new AbortController().signal });
    const manifest = readFileSync(join(folder, 'current.json'), 'utf8');
    expect(await invent(30)).toBeNull();
    expect(readFileSync(join(folder, 'current.json'), 'utf8')).toBe(manifest);
  });

  it('keeps files of real profiles that no manifest names yet', async () => {
    await invent(30);
    const restored = join(folder, 'base-0123.db');
    writeFileSync(restored, 'half of a backup');
    expect(await invent(40)).toBe(40);
    expect(existsSync(restored)).toBe(true);
    rmSync(join(folder, 'current.json'));
    expect(await invent(50)).toBeNull();
    expect([existsSync(restored), readManifest(folder)]).toEqual([true, null]);
  });

  it('removes the set that an earlier version named like real profiles, and the set of a killed build', async () => {
    await invent(30);
    const manifest = readManifest(folder)!;
    renameSync(join(folder, manifest.base.file), join(folder, 'base-0123.db'));
    writeManifest(folder, { ...manifest, base: { file: 'base-0123.db', profiles: 30 } });
    writeFileSync(join(folder, 'fictional-0123.db'), 'not published');
    await invent(40);
    expect(readdirSync(folder).filter((name) => name.endsWith('.db'))).toEqual([
      readManifest(folder)!.base.file,
    ]);
  });

  it('waits for a running change', async () => {
    const lock = lockKeeper(folder);
    let isMade = false;
    const making = invent(30).then(() => (isMade = true));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect([isMade, readManifest(folder)]).toEqual([false, null]);
    lock.release();
    await making;
    expect(readManifest(folder)).toMatchObject({ synthetic: true });
  });
});
