import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { generatePrivateKey } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { openStore, embeddedStoreFile } from '../../../src/store/open-store.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { startChains, type Chains } from '../../chains/start-chains.ts';
import { layDataFolder } from '../../data-template.ts';
import { startTestGateway } from '../../e2e/start-test-gateway.ts';
import { startHttp } from '../../http/local-hosts.ts';
import { startS3Server } from '../../media/s3-server.ts';
import { listenOnLoopback } from '../../mcp/listen-on-loopback.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { hasService, redisUrl } from '../../outside-services.ts';
import { startStubUpstream } from '../../providers/stub-upstream.ts';
import { runHere, runNode, temporaryFolder } from '../run-cli.ts';
import { createTestDatabase } from '../test-database.ts';

const finding = z.strictObject({
  check: z.string(),
  status: z.enum(['ok', 'warning', 'problem']),
  message: z.string().regex(/^[^\n]+$/),
  remedy: z.string().nullable(),
});
const document = z.strictObject({
  ok: z.boolean(),
  problems: z.int(),
  warnings: z.int(),
  checks: z.array(finding),
});

/** No search, so that no chain is asked, and no gateway on the usual port. */
const quiet = { X402_NETWORKS: 'none', PORT: '0' };

/** What `causeway doctor --json` prints. Each finding that is not right says what to do. */
const examine = async (env: Record<string, string>, yaml?: string) => {
  const folder = await temporaryFolder();
  const config = join(folder, 'causeway.yaml');
  await writeFile(config, yaml ?? '');
  const { exitCode, stdout, stderr } = await runHere(['doctor', '--json'], {
    env: {
      DATA_DIR: join(folder, 'data'),
      ...env,
      ...(yaml === undefined ? {} : { CAUSEWAY_CONFIG: config }),
    },
  });
  expect(stderr).toBe('');
  const seen = document.parse(JSON.parse(stdout));
  expect(exitCode).toBe(seen.problems > 0 ? 1 : 0);
  for (const { status, remedy } of seen.checks) expect(remedy === null).toBe(status === 'ok');
  const findingsOf = (check: string) =>
    seen.checks.filter((one) => one.check === check).map(({ status, message }) => `${status}: ${message}`);
  return { ...seen, stdout, findingsOf };
};

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

describe('Redis', () => {
  it.skipIf(!hasService('Redis'))('answers', async () => {
    expect((await examine({ ...quiet, REDIS_URL: redisUrl })).findingsOf('redis')).toEqual([
      'ok: Redis answers.',
    ]);
  });

  it('that is away is a problem', async () => {
    const { findingsOf, stdout } = await examine({ ...quiet, REDIS_URL: 'redis://:topsecret@127.0.0.1:1' });
    expect(findingsOf('redis')).toEqual([
      expect.stringMatching(/^problem: REDIS_URL: Redis does not answer/),
    ]);
    expect(stdout).not.toContain('topsecret');
  });
});

describe('a bucket', () => {
  it('takes, returns and removes an object', async () => {
    const s3 = await startS3Server();
    onTestFinished(() => s3.stop());
    const { endpoint, bucket, accessKeyId, secretAccessKey } = s3.config;
    const env = {
      PORT: '0',
      X402_EVM_RPC_URL: 'http://127.0.0.1:1',
      X402_NETWORKS: 'eip155:84532',
      MEDIA_URL: `s3://${bucket}/media`,
      S3_ENDPOINT: endpoint,
      S3_ACCESS_KEY_ID: accessKeyId,
      S3_SECRET_ACCESS_KEY: secretAccessKey,
    };
    const right = await examine(env);
    expect(right.findingsOf('buckets')).toEqual([
      expect.stringMatching(/^ok: MEDIA_URL: .* takes, returns and removes/),
    ]);
    expect(right.findingsOf('leads')).toEqual(['warning: No profiles were imported.']);
    expect(await s3.contents()).toEqual([]);
    const locked = await examine({ ...env, S3_SECRET_ACCESS_KEY: 'topsecret' });
    expect(locked.findingsOf('buckets')).toEqual([expect.stringMatching(/^problem: MEDIA_URL/)]);
    expect(locked.stdout).not.toContain('topsecret');
  });
});

describe('services that accept connections and never answer', () => {
  it('are named, each in its own words', async () => {
    const silent = await listenOnLoopback(createServer(() => undefined));
    onTestFinished(() => silent.close());
    const { host, port } = new URL(silent.url);
    const { findingsOf } = await examine(
      {
        PORT: port,
        X402_NETWORKS: 'eip155:84532',
        X402_EVM_RPC_URL: silent.url,
        X402_FACILITATOR_URL: silent.url,
        DATABASE_URL: `postgres://gate@${host}/causeway`,
      },
      `{ providers: { up: { type: openai, base_url: "${silent.url}/v1" } } }`,
    );
    expect(findingsOf('store')).toEqual([expect.stringMatching(/^problem: .* PostgreSQL cannot be reached/)]);
    expect(findingsOf('payments')).toEqual([expect.stringMatching(/^problem: .* the node did not answer/)]);
    expect(findingsOf('providers')).toEqual([expect.stringMatching(/^problem: .* cannot be reached/)]);
    expect(findingsOf('addresses')).toEqual([expect.stringMatching(/^ok: No gateway runs at /)]);
  }, 60_000);
});

describe('a provider', () => {
  const yamlOf = (baseUrl: string, model = 'stub-model'): string => `
providers:
  up: { type: openai, base_url: "${baseUrl}", api_key_env: UPSTREAM_KEY }
models:
  chat-1: { kind: chat, price: { unit: call, price_usd: "1" }, routes: [{ provider: up, model: ${model} }] }
`;
  const env = { ...quiet, UPSTREAM_KEY: 'topsecret' };

  it('is asked for nothing that costs money', async () => {
    const upstream = await startStubUpstream();
    onTestFinished(() => upstream.close());
    const { findingsOf } = await examine(env, yamlOf(upstream.baseUrl));
    expect(findingsOf('providers')).toEqual(['ok: The provider up answers and takes the key.']);
    // The stub notes every request but those for the list of models.
    expect(upstream.requests).toEqual([]);
  });

  it('that does not list the model of a route is named with it, as it may serve it all the same', async () => {
    const upstream = await startStubUpstream();
    onTestFinished(() => upstream.close());
    const { findingsOf } = await examine(env, yamlOf(upstream.baseUrl, 'stub-modle'));
    expect(findingsOf('providers')).toEqual([
      'ok: The provider up answers and takes the key.',
      'warning: The provider up does not list the model stub-modle.',
    ]);
  });

  it.each(['{}', '{"data":[]}', '{"data":[null]}', '{"data":7}', 'null', '<!doctype html>', ''])(
    'that answers %j for its list of models is not blamed for its models',
    async (list) => {
      const url = await startHttp((_request, response) => response.end(list));
      const { findingsOf } = await examine(env, yamlOf(url));
      expect(findingsOf('providers')).toEqual(['ok: The provider up answers and takes the key.']);
    },
  );

  it('that refuses the key, or has another time, is named', async () => {
    let date = new Date();
    let status = 401;
    const server = await listenOnLoopback(
      createServer((_request, response) =>
        response.writeHead(status, { date: date.toUTCString() }).end('{}'),
      ),
    );
    onTestFinished(() => server.close());
    const refused = await examine(env, yamlOf(server.url));
    expect(refused.findingsOf('providers')).toEqual([
      expect.stringMatching(/^problem: The provider up refuses the key \(401\)/),
    ]);
    expect(refused.stdout).not.toContain('topsecret');
    status = 200;
    date = new Date(Date.now() + 300_000);
    const ahead = await examine(env, yamlOf(server.url));
    expect(ahead.findingsOf('providers')).toContainEqual(
      expect.stringMatching(/^problem: This machine's clock is \d+ s behind the clock of the provider up/),
    );
  });
});

describe('the payment networks', () => {
  let chains: Chains;
  beforeAll(async () => {
    chains = await startChains();
  });
  afterAll(() => chains.stop());

  const evm = (): Record<string, string> => {
    const { X402_EVM_PAY_TO = '', X402_EVM_RPC_URL = '', X402_EVM_FACILITATOR_KEY = '' } = chains.environment;
    return {
      PORT: '0',
      X402_NETWORKS: 'eip155:84532',
      X402_EVM_PAY_TO,
      X402_EVM_RPC_URL,
      X402_EVM_FACILITATOR_KEY,
    };
  };

  it('are right on both chains', async () => {
    const { findingsOf } = await examine({ ...chains.environment, PORT: '0' });
    expect(findingsOf('payments')).toEqual([
      'ok: Base Sepolia: the node is current, the token is right, and payments can be settled (local facilitator).',
      'ok: Solana devnet: the node is current, the token is right, and payments can be settled (local facilitator).',
    ]);
    expect(findingsOf('settings')).toEqual([
      expect.stringMatching(/^warning: Calls without a key are paid on Base Sepolia/),
    ]);
  });

  it('are a problem with a node of another chain', async () => {
    const { findingsOf } = await examine({ ...evm(), X402_NETWORKS: 'eip155:11155111' });
    expect(findingsOf('payments')).toEqual([
      expect.stringMatching(/^problem: Ethereum Sepolia: the RPC serves chain 84532, not 11155111/),
    ]);
  });

  it('are a problem when the settling account is empty', async () => {
    const key = generatePrivateKey();
    const { findingsOf, stdout } = await examine({ ...evm(), X402_EVM_FACILITATOR_KEY: key });
    expect(findingsOf('payments')).toEqual([
      expect.stringMatching(
        /^problem: Base Sepolia: the settling account 0x\w{40} cannot pay for one settlement/,
      ),
    ]);
    expect(stdout).not.toContain(key.slice(2));
  });

  it('are a problem when the facilitator does not name the network', async () => {
    const facilitator = await listenOnLoopback(
      createServer((_request, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"kinds":[]}'),
      ),
    );
    onTestFinished(() => facilitator.close());
    const { X402_EVM_FACILITATOR_KEY: _key, ...env } = evm();
    const { findingsOf } = await examine({ ...env, X402_FACILITATOR_URL: facilitator.url });
    expect(findingsOf('payments')).toEqual([
      expect.stringMatching(/^problem: Base Sepolia: the facilitator .* does not settle on Base Sepolia/),
    ]);
  });
});
