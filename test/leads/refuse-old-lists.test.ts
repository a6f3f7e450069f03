import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { silentLog } from '../../src/kit/log.ts';
import { openLeadKeeper } from '../../src/leads/open-lead-keeper.ts';
import { openLeads } from '../../src/leads/open-leads.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'causeway-old-lists-'));
});
afterEach(() => rm(dataDir, { recursive: true }));

describe('a list of forgotten people of an earlier version', () => {
  it.each(['leads/forgotten.db', 'leads-changes/profiles/forgotten.db', 'leads-shared/place.json'])(
    'in %s is refused with the way of its people, and nothing is served or changed',
    async (path) => {
      const file = join(dataDir, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, '');
      const files = await readdir(dataDir, { recursive: true });
      const config = readConfig({ DATA_DIR: dataDir }, null);
      const reason = `${file} is the list of forgotten people of an earlier version`;
      const unused = () => Promise.reject(new Error('not reached'));
      const people = { find: unused, add: unused, remove: unused, count: unused, read: unused };
      await expect(openLeads(config, { redis: null, log: silentLog, people, sweep: unused })).rejects.toThrow(
        reason,
      );
      await expect(openLeadKeeper(config)).rejects.toThrow(/Move it away, run "causeway leads delete --file/);
      expect(await readdir(dataDir, { recursive: true })).toEqual(files);
    },
  );

  it('in the place of a fleet is refused with its setting', () => {
    expect(() => readConfig({ LEADS_URL: '/srv/profiles' }, null)).toThrow(
      /^LEADS_URL: gateways share profiles in PostgreSQL .* unset it, run "causeway leads delete --file/,
    );
  });
});
