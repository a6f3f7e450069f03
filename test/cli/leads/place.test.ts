import { chmod, mkdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { assertPlaceExists, describePlace, readLeadPlace } from '../../../src/cli/leads/place.ts';
import { temporaryFolder } from '../run-cli.ts';

const url = 'postgres://someone:secret@127.0.0.1/leads';

describe('the place of the profiles', () => {
  it('is the embedded index in DATA_DIR by default, also where the rest is in PostgreSQL', () => {
    const place = readLeadPlace({ DATA_DIR: '/srv/causeway', DATABASE_URL: url }, {});
    expect(place).toMatchObject({ kind: 'embedded', folder: '/srv/causeway/leads', isSearched: true });
    expect(readLeadPlace({}, {})).toMatchObject({ folder: resolve('data/leads') });
  });

  it('is the first of LEADS_SOURCES that is kept here', () => {
    const environment = { LEADS_SOURCES: 'http, postgres,embedded', LEADS_DATABASE_URL: url };
    expect(readLeadPlace(environment, {})).toEqual({
      kind: 'postgres',
      isSearched: true,
      url,
      embeddedFolder: resolve('data/leads'),
    });
    const upstream = readLeadPlace({ LEADS_SOURCES: 'apify' }, {});
    expect(upstream).toMatchObject({ kind: 'embedded', isSearched: false });
  });

  it('is what --to says, and known not to be searched where LEADS_SOURCES leaves it out', () => {
    const place = readLeadPlace({ LEADS_SOURCES: 'embedded', DATABASE_URL: url }, { to: 'postgres' });
    expect(place).toMatchObject({ kind: 'postgres', isSearched: false, url });
  });

  it('is found while other settings are wrong', () => {
    const environment = {
      PORT: 'wrong',
      X402_NETWORKS: 'nowhere',
      DATABASE_URL: 'wrong',
      LEADS_CACHE_SECONDS: '-',
    };
    expect(readLeadPlace(environment, {})).toMatchObject({ kind: 'embedded' });
    const wrongList = { LEADS_SOURCES: 'elsewhere' };
    expect(readLeadPlace(wrongList, { to: 'embedded' })).toMatchObject({ isSearched: true });
  });

  it.each([
    { environment: { LEADS_SOURCES: 'postgre' }, says: /^LEADS_SOURCES: must be of embedded, postgres/ },
    {
      environment: { LEADS_SOURCES: 'postgres' },
      says: /^LEADS_DATABASE_URL: must be set \(or DATABASE_URL\)/,
    },
    {
      environment: { LEADS_SOURCES: 'postgres', LEADS_DATABASE_URL: 'mysql://x' },
      says: /^LEADS_DATABASE_URL: must be a postgres:\/\/ URL/,
    },
    {
      environment: { LEADS_DATABASE_ULR: url },
      says: /^LEADS_DATABASE_ULR: there is no such setting; rename it to LEADS_DATABASE_URL/,
    },
  ])('is refused with $says for $environment', ({ environment, says }) => {
    expect(() => readLeadPlace(environment, {})).toThrow(says);
  });

  it('cannot be a folder and PostgreSQL both', () => {
    const environment = { LEADS_SOURCES: 'postgres', DATABASE_URL: url };
    expect(() => readLeadPlace(environment, { dataDir: '/srv' })).toThrow(/--data-dir: .* --to embedded/);
    expect(readLeadPlace(environment, { dataDir: '/srv', to: 'embedded' })).toMatchObject({
      folder: '/srv/leads',
    });
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

  it('is told without the password of the database', () => {
    expect(describePlace(readLeadPlace({ DATABASE_URL: url }, { to: 'postgres' }))).toBe('PostgreSQL');
    expect(describePlace(readLeadPlace({ DATA_DIR: '/srv' }, {}))).toBe('the embedded index in /srv/leads');
  });
});
