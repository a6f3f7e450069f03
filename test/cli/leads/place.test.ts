import { chmod, cp, mkdir, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { assertPlaceExists, describePlace, readLeadPlace } from '../../../src/cli/place.ts';
import { runHere, temporaryDataFolder, temporaryFolder } from '../run-cli.ts';

/** See `test/leads/move-forgotten-list.slow.test.ts`. */
const oldLists = join(import.meta.dirname, '../../leads/old-lists');
const url = 'postgres://someone:secret@127.0.0.1/leads';

describe('the place of the profiles', () => {
  it('is the embedded index in DATA_DIR by default, and PostgreSQL where DATABASE_URL names it', () => {
    const place = readLeadPlace({ DATA_DIR: '/srv/causeway' }, {});
    expect(place).toMatchObject({ dataDir: '/srv/causeway', databaseUrl: null, isSearched: true });
    expect(describePlace(place)).toBe('the embedded index in /srv/causeway/leads');
    expect(describePlace(readLeadPlace({}, {}))).toContain(resolve('data/leads'));
    const shared = readLeadPlace({ DATABASE_URL: url }, {});
    expect(describePlace(shared)).toBe('PostgreSQL');
    expect(() => assertPlaceExists(shared)).not.toThrow();
  });

  it('is known not to be searched where LEADS_SOURCES leaves it out', () => {
    expect(readLeadPlace({ LEADS_SOURCES: 'http' }, {})).toMatchObject({ isSearched: false });
    expect(readLeadPlace({ LEADS_SOURCES: 'http,embedded' }, {})).toMatchObject({ isSearched: true });
  });

  it('is found while other settings are wrong', () => {
    const environment = { PORT: 'wrong', X402_NETWORKS: 'nowhere', LEADS_CACHE_SECONDS: '-' };
    expect(readLeadPlace(environment, {})).toMatchObject({ formerPlace: null });
    const wrongList = { LEADS_SOURCES: 'elsewhere' };
    expect(readLeadPlace(wrongList, {})).toMatchObject({ isSearched: true });
  });

  it('of a fleet of an earlier version is named, so that its list is taken over', () => {
    const place = readLeadPlace({ LEADS_URL: 's3://profiles/live' }, {});
    expect(place).toMatchObject({ formerPlace: { url: 's3://profiles/live' } });
    expect(() => readLeadPlace({ LEADS_URLS: '/srv/leads' }, {})).toThrow(/rename it to LEADS_URL/);
  });

  it('of an earlier version is refused by a command that has taken over its list', async () => {
    const folder = await temporaryDataFolder();
    const env = { DATA_DIR: folder };
    const forgotten = async (): Promise<number> =>
      JSON.parse((await runHere(['leads', 'stats', '--json'], { env })).stdout).stats.forgotten;
    await cp(join(oldLists, 'leads'), join(folder, 'leads'), { recursive: true });
    expect(await runHere(['leads', 'stats'], { env })).toMatchObject({ exitCode: 1, stdout: '' });
    await rm(join(folder, 'leads'), { recursive: true });
    expect(await forgotten()).toBe(3);
    const place = { ...env, LEADS_URL: join(oldLists, 'place') };
    expect(await runHere(['leads', 'stats'], { env: place })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/LEADS_URL: .* is taken over: unset it/),
    });
    expect(await forgotten()).toBe(5);
  });

  it('is not guessed while one of its settings looks misspelt', () => {
    expect(() => readLeadPlace({ LEADS_SOURCE: 'embedded' }, {})).toThrow(/rename it to LEADS_SOURCES/);
  });

  it('must be one where there was something before', async () => {
    const folder = await temporaryFolder();
    const place = readLeadPlace({ DATA_DIR: folder }, {});
    expect(() => assertPlaceExists(place)).toThrow(/There is no data in .*"leads import" creates it/);
    await mkdir(join(folder, 'leads'));
    expect(() => assertPlaceExists(place)).not.toThrow();
  });

  it('is not taken for empty where it cannot be looked at', async () => {
    const folder = await temporaryFolder();
    await symlink('loop', join(folder, 'loop'));
    const place = readLeadPlace({ DATA_DIR: join(folder, 'loop') }, {});
    expect(() => assertPlaceExists(place)).toThrow(
      /loop\/leads cannot be read by the user \S+ \(ELOOP\)\. Run the command as the user of/,
    );
  });

  it.skipIf(process.getuid?.() === 0)('is not taken for empty where only others may enter it', async () => {
    const folder = await temporaryFolder();
    await chmod(folder, 0);
    const place = readLeadPlace({ DATA_DIR: folder }, {});
    expect(() => assertPlaceExists(place)).toThrow(/cannot be read by the user \S+ \(EACCES\)/);
  });
});
