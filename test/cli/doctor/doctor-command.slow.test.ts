import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { generatePrivateKey } from 'viem/accounts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { openStore, embeddedStoreFile } from '../../../src/store/open-store.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { layDataFolder } from '../../data-template.ts';
import { startTestGateway } from '../../e2e/start-test-gateway.ts';
import { listenOnLoopback } from '../../mcp/listen-on-loopback.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { hasService } from '../../outside-services.ts';
import { startStubUpstream } from '../../providers/stub-upstream.ts';
import { runHere, runNode, temporaryFolder } from '../run-cli.ts';
import { createTestDatabase } from '../test-database.ts';
import { examine, finding, quiet } from './examine.ts';

const dataFolder = async (): Promise<string> => {
  const folder = join(await temporaryFolder(), 'data');
  layDataFolder(folder);
  return folder;
};

describe('causeway doctor', () => {
  it('finds no problem with a new folder and the sandbox, and makes nothing there', async () => {
    const parent = await temporaryFolder();
    const { ok, findingsOf } = await examine({ ...quiet, DATA_DIR: join(parent, 'data') });
    expect(ok).toBe(true);
    expect(findingsOf('folders')).toEqual([
      expect.stringMatching(/^warning: DATA_DIR: .* does not exist yet/),
    ]);
    expect(await readdir(parent)).toEqual([]);
  });

  it('shows a table with what to do to people, and exits with 1 at a problem', async () => {
    const { exitCode, stdout } = await runHere(['doctor'], { env: { ...quiet, DATA_DIR: '/proc/none/of' } });
    expect(stdout).toMatch(/^ok {7}node {7}Node \d+/);
    expect(exitCode).toBe(0);
    const wrong = await runHere(['doctor'], { env: { ...quiet, PORT: 'many' } });
    expect(wrong.exitCode).toBe(1);
    expect(wrong.stdout).toMatch(/problem {2}settings {3}PORT: .*\n {20}Correct this setting/);
    expect(wrong.stdout).toMatch(/\n1 problem, 0 warnings\.\n$/);
  });

  it('names settings that are unknown or insecure', async () => {
    const { findingsOf } = await examine({
      ...quiet,
      HOST: '0.0.0.0',
      ALLOW_LOOPBACK_URLS: 'true',
      LOG_LEVEL: 'silent',
      MEDIA_RETENSION_DAYZ: '3',
      DATABASE_URL: 'postgres://gate:topsecret@db.invalid/causeway',
    });
    expect(findingsOf('settings')).toEqual([
      expect.stringMatching(/^warning: MEDIA_RETENSION_DAYZ /),
      expect.stringMatching(/^warning: HOST is 0\.0\.0\.0 without PUBLIC_URL/),
      expect.stringMatching(/^problem: ALLOW_LOOPBACK_URLS/),
      expect.stringMatching(/^warning: DATABASE_URL .* sslmode/),
      expect.stringMatching(/^warning: LOG_LEVEL/),
    ]);
    expect(findingsOf('store')).toEqual([
      expect.stringMatching(/^problem: DATABASE_URL: .*cannot be reached/),
    ]);
  });

  it.each(['SQLite', ...(hasService('PostgreSQL') ? ['PostgreSQL'] : [])])(
    'says when the last call of a provider failed, by the jobs in %s, until one is answered',
    async (engine) => {
      const [upstream, spare] = [await startStubUpstream(), await startStubUpstream()];
      const database = engine === 'PostgreSQL' ? await createTestDatabase() : null;
      const env: Record<string, string> = {
        ...quiet,
        UPSTREAM_KEY: 'upstream-secret',
        ...(database === null ? {} : { DATABASE_URL: database.url }),
      };
      const yaml = `
providers:
  up: { type: openai, base_url: "${upstream.baseUrl}", api_key_env: UPSTREAM_KEY }
  spare: { type: openai, base_url: "${spare.baseUrl}", api_key_env: UPSTREAM_KEY }
models:
  textmodel-3.5-flash:
    kind: chat
    price: { unit: call, price_usd: "0.01" }
    routes: [{ provider: up, model: m }, { provider: spare, model: m }]
`;
      const gateway = await startTestGateway({ environment: env, yaml });
      onTestFinished(async () => {
        await gateway.stop();
        await upstream.close();
        await spare.close();
        await database?.drop();
      });
      const { apiKey } = await openAccount(gateway.services);
      const ask = async (): Promise<number> => {
        const body = { messages: [{ role: 'user', content: 'Hello' }] };
        return (await gateway.call('/v1/chat/completions', { apiKey, body })).status;
      };
      const told = async (): Promise<string[]> => {
        const { findingsOf } = await examine({ ...env, DATA_DIR: gateway.dataDir }, yaml);
        return findingsOf('store').filter((text) => text.includes('last call'));
      };
      expect(await told()).toEqual([]);
      // A request that is wrong says nothing of the provider.
      upstream.script({ kind: 'error', status: 400 });
      await ask();
      expect(await told()).toEqual([]);
      const failed = (name: string) =>
        expect.stringMatching(
          String.raw`^warning: The last call of the provider ${name} failed, at \d{4}-\d\d-\d\dT\S+Z\.$`,
        );
      // The spare one answers the caller.
      upstream.script({ kind: 'error', status: 404 });
      expect(await ask()).toBe(200);
      expect(await told()).toEqual([failed('up')]);
      upstream.script({ kind: 'error', status: 404 });
      spare.script({ kind: 'error', status: 404 });
      expect(await ask()).toBe(503);
      expect(await told()).toEqual([failed('up'), failed('spare')]);
      spare.script({ kind: 'chat', pieces: ['Hello'] });
      expect(await ask()).toBe(200);
      expect(await told()).toEqual([failed('spare')]);
    },
  );

  it('names a plain PUBLIC_URL, and the sandbox and a lack of profiles beside real money', async () => {
    const { findingsOf, stdout } = await examine({
      PORT: '0',
      PUBLIC_URL: 'http://gateway.invalid',
      X402_NETWORKS: 'eip155:8453',
      X402_EVM_PAY_TO: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
      X402_EVM_RPC_URL: 'http://127.0.0.1:1/topsecret',
      X402_EVM_FACILITATOR_KEY: generatePrivateKey(),
    });
    expect(findingsOf('settings')).toEqual([
      expect.stringMatching(/^problem: PUBLIC_URL begins with http:/),
      expect.stringMatching(/^warning: A proxy seems to be in front/),
      expect.stringMatching(/^warning: The sandbox serves .*no real model answers/),
    ]);
    expect(findingsOf('leads')).toEqual([
      expect.stringMatching(/^problem: There are only fictional profiles/),
    ]);
    expect(findingsOf('payments')).toEqual([expect.stringMatching(/^problem: Base: the node is of no use/)]);
    expect(findingsOf('addresses')).toContainEqual(
      expect.stringMatching(/^warning: PUBLIC_URL was not tried/),
    );
    expect(stdout).not.toMatch(/topsecret|0x[0-9a-f]{64}/);
  });

  it('tells a gateway that runs here, and a PUBLIC_URL that leads to it or elsewhere', async () => {
    const gateway = await startTestGateway();
    onTestFinished(() => gateway.stop());
    await expect.poll(async () => (await fetch(`${gateway.url}/health/ready`)).status).toBe(200);
    const other = await listenOnLoopback(createServer((_request, response) => response.end('hello')));
    onTestFinished(() => other.close());
    const port = new URL(gateway.url).port;
    const right = await examine({ X402_NETWORKS: 'none', PORT: port, PUBLIC_URL: gateway.url });
    expect(right.findingsOf('addresses')).toEqual([
      `ok: A gateway runs at ${gateway.url} and is ready.`,
      `ok: PUBLIC_URL: ${gateway.url} leads to a gateway.`,
    ]);
    const wrong = await examine({ ...quiet, PUBLIC_URL: other.url });
    expect(wrong.findingsOf('addresses')).toContainEqual(
      expect.stringMatching(/^problem: PUBLIC_URL: .* answers 200, and not as a gateway does/),
    );
  });
});

describe('the folders', () => {
  it('take files, which are removed again, beside a store of this version', async () => {
    const DATA_DIR = await dataFolder();
    const before = (await readdir(DATA_DIR, { recursive: true })).toSorted();
    const { findingsOf } = await examine({ ...quiet, DATA_DIR });
    expect(findingsOf('folders')[0]).toMatch(/^(?:ok|warning): DATA_DIR: .*durable write/);
    expect(findingsOf('store')).toEqual(['ok: The embedded store has the schema of this version.']);
    const after = await readdir(DATA_DIR, { recursive: true });
    expect(after.filter((name) => !/-(?:shm|wal)$/.test(name)).toSorted()).toEqual(before);
  });

  it('are a problem where nothing can be written, or where a file is in the way', async () => {
    // Nobody writes there, root neither.
    const readOnly = await examine({ ...quiet, DATA_DIR: '/proc' });
    expect(readOnly.findingsOf('folders')).toContainEqual(
      expect.stringMatching(/^problem: DATA_DIR: \/proc takes no files/),
    );
    const file = join(await temporaryFolder(), 'data');
    await writeFile(file, '');
    const inTheWay = await examine({ ...quiet, MEDIA_DIR: file });
    expect(inTheWay.findingsOf('folders')).toContainEqual(
      expect.stringMatching(/^problem: MEDIA_DIR: .* is not a folder/),
    );
  });
});

describe('another user than the owner', () => {
  it('is told to run the doctor as the owner', async () => {
    const DATA_DIR = await dataFolder();
    const MEDIA_DIR = join(DATA_DIR, 'media');
    await mkdir(MEDIA_DIR, { recursive: true });
    await mkdir(join(DATA_DIR, 'leads'), { recursive: true });
    await chmod(dirname(DATA_DIR), 0o755);
    await chmod(DATA_DIR, 0);
    const child = fileURLToPath(new URL('./examine-as-nobody.ts', import.meta.url));
    const nowhere = 'http://127.0.0.1:1';
    const payments = {
      X402_NETWORKS: 'eip155:84532',
      X402_EVM_RPC_URL: nowhere,
      X402_FACILITATOR_URL: nowhere,
    };
    const env = { PORT: '0', ...payments, DATA_DIR, MEDIA_DIR };
    const ended = await runNode([child], { env });
    await chmod(DATA_DIR, 0o700);
    const seen = z.array(finding).parse(JSON.parse(ended.stdout));
    const refused = (check: string, message: RegExp) =>
      expect(seen.filter((one) => one.check === check)).toContainEqual({
        check,
        status: 'problem',
        message: expect.stringMatching(message),
        remedy: expect.stringMatching(/^(?:Run|Let) .*(?:user|owner)/),
      });
    refused('folders', /^DATA_DIR: .*(?:belongs to another user|takes no files)/);
    refused('folders', /^MEDIA_DIR: .*\/media cannot be read by \w+ \(EACCES\)/);
    refused('store', /cannot be read: EACCES/);
    refused('leads', /cannot be read: EACCES/);
    expect(ended.stdout).not.toContain('Report this');
  });
});

describe('the embedded store', () => {
  it.each([
    [`insert into kysely_migration values ('9999-later', '')`, /^problem: A newer version .*9999-later/],
    [
      `insert into kysely_migration values ('0001-initial', '')`,
      /^problem: A version .* from before the first release made this store/,
    ],
    [`delete from kysely_migration`, /^warning: The store lacks a migration \(0001-schema\)/],
  ])('after %s is named', async (statement, message) => {
    const DATA_DIR = await dataFolder();
    const database = new DatabaseSync(embeddedStoreFile(DATA_DIR));
    database.exec(statement);
    database.close();
    const { findingsOf } = await examine({ ...quiet, DATA_DIR });
    expect(findingsOf('store')).toEqual([expect.stringMatching(message)]);
  });

  it('is a problem when it is no database', async () => {
    const DATA_DIR = join(await temporaryFolder(), 'data');
    await mkdir(DATA_DIR);
    await writeFile(embeddedStoreFile(DATA_DIR), 'x'.repeat(5_000));
    const { findingsOf } = await examine({ ...quiet, DATA_DIR });
    expect(findingsOf('store')).toEqual([
      expect.stringMatching(/^problem: .* cannot be read: file is not a database/),
    ]);
  });
});

describe.skipIf(!hasService('PostgreSQL'))('PostgreSQL', () => {
  it('is looked at without a change, empty, current, and newer than this version', async () => {
    const database = await createTestDatabase();
    if (database === null) throw new Error('PostgreSQL went away');
    onTestFinished(() => database.drop());
    const client = new Client({ connectionString: database.url });
    await client.connect();
    onTestFinished(() => client.end());
    const env = { ...quiet, DATABASE_URL: database.url };
    const empty = await examine(env);
    expect(empty.findingsOf('store')).toEqual([
      expect.stringMatching(/^ok: PostgreSQL \d+.* answers, and its clock agrees/),
      'warning: The database has no tables yet.',
      expect.stringMatching(/^(?:ok|warning): A durable write to PostgreSQL took \d+ ms/),
    ]);
    const tables = await client.query(`select 1 from pg_tables where schemaname = 'public'`);
    expect(tables.rows).toEqual([]);
    await (await openStore({ databaseUrl: database.url, dataDir: '' }, { log: silentLog })).close();
    expect((await examine(env)).findingsOf('store')).toContain(
      'ok: The database has the schema of this version.',
    );
    await client.query(`insert into kysely_migration values ('9999-later', '')`);
    expect((await examine(env)).findingsOf('store')).toContainEqual(
      expect.stringMatching(/^problem: A newer version .*9999-later/),
    );
  });
});
