import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileFormats, writeProfiles } from '../../../bench/leads/files/write-profiles.ts';
import { createProfiles, firstProfiles } from '../../../bench/leads/generate-profiles.ts';
import { openLeadInput } from '../../../src/leads/import/open-lead-input.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bench-files-'));
});
afterEach(() => rm(folder, { recursive: true }));

const leads = [...firstProfiles(createProfiles(3), 1200)].map((lead, place) =>
  place === 5 ? { ...lead, bio: 'they call me "Ana",\nnot "Anna"' } : lead,
);

const readBack = async (file: string): Promise<Lead[]> => {
  const input = await openLeadInput({ files: [file] });
  const read: Lead[] = [];
  for await (const batch of input.read({ signal: new AbortController().signal })) read.push(...batch);
  return read;
};

describe('files of generated profiles', () => {
  it.each(fileFormats)('%s: are imported as the profiles that were written', async (format) => {
    const file = join(folder, `profiles.${format}`);
    await writeProfiles(leads, { file, format });
    expect(await readBack(file)).toEqual(leads);
  });

  it('leave nothing behind when writing fails', async () => {
    const failing = function* (): Generator<Lead> {
      yield* leads;
      throw new Error('no more');
    };
    const file = join(folder, 'profiles.csv');
    await expect(writeProfiles(failing(), { file, format: 'csv' })).rejects.toThrow('no more');
    expect(await readdir(folder)).toEqual([]);
  });
});
