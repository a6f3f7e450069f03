import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inventProfiles } from '../../../src/leads/embedded/build/invent-profiles.ts';
import { lockKeeper } from '../../../src/leads/embedded/keeper-lock.ts';
import { readManifest } from '../../../src/leads/embedded/manifest.ts';
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
  it('puts another set in the place of the one before', async () => {
    expect(await invent(30)).toBe(30);
    expect(await invent(40)).toBe(40);
    expect(readManifest(folder)).toMatchObject({ synthetic: true, base: { profiles: 40 } });
    expect(readdirSync(folder).filter((name) => name.startsWith('base-'))).toHaveLength(1);
  });

  it('leaves real profiles that came before its end', async () => {
    const keeper = await openEmbeddedKeeper({ folder });
    const input = leadInputOf([buildLead()]);
    await keeper.importLeads({ input, mode: 'upsert', signal: new AbortController().signal });
    const manifest = readFileSync(join(folder, 'current.json'), 'utf8');
    expect(await invent(30)).toBeNull();
    expect(readFileSync(join(folder, 'current.json'), 'utf8')).toBe(manifest);
  });

  it('waits for a change that is under way', async () => {
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
