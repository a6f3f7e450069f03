import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startGatewayProcess, type GatewayProcess } from '../../scripts/gateway-process.ts';
import { cliArguments, gatewayArguments } from '../../scripts/node-arguments.ts';
import { embeddedStoreFile } from '../../src/store/open-store.ts';
import { documents, operatorOf } from '../cli/run-cli.ts';
import { runNode, type Ended } from '../cli/run-cli.ts';
import { layDataFolder } from '../data-template.ts';

let dataDir: string;
let running: GatewayProcess[];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'causeway-process-'));
  running = [];
});

afterEach(async () => {
  for (const gateway of running) await gateway.kill();
  await rm(dataDir, { recursive: true, force: true });
});

/** Spares a gateway the work of its first start, where a test is about something else. */
const startOnLaidFolder = (): void => {
  beforeEach(() => layDataFolder(dataDir));
};

/** Of a gateway on the data folder of the test. */
const settings = (): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  DATA_DIR: dataDir,
  PORT: '0',
  LOG_LEVEL: 'silent',
  SYNTHETIC_PROFILES: '500',
});

const start = async (environment: Record<string, string> = {}): Promise<GatewayProcess> => {
  const gateway = await startGatewayProcess({ ...settings(), ...environment });
  running.push(gateway);
  return gateway;
};

const run = (words: readonly string[], environment: Record<string, string> = {}): Promise<Ended> =>
  runNode(words, { env: { DATA_DIR: dataDir, LOG_LEVEL: 'silent', ...environment } });

const chat = (
  gateway: GatewayProcess,
  apiKey: string,
  content: string,
  more: object = {},
  idempotencyKey: string | null = null,
): Promise<Response> =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify({ messages: [{ role: 'user', content }], max_tokens: 50, ...more }),
  });

const jobStatuses = async (gateway: GatewayProcess): Promise<string[]> => {
  const headers = { authorization: `Bearer ${keyOf(gateway)}` };
  const jobs = await fetch(`${gateway.url}/v1/jobs`, { headers });
  return ((await jobs.json()) as { data: { status: string }[] }).data.map(({ status }) => status);
};

const keyOf = ({ apiKey }: GatewayProcess): string => {
  if (apiKey === null) throw new Error('no key was printed');
  return apiKey;
};

describe('a start', () => {
  it('makes an account with a key that works, and prints the key on the first start only', async () => {
    const first = await start();
    const apiKey = keyOf(first);
    const balance = await fetch(`${first.url}/v1/balance`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(await balance.json()).toMatchObject({ balance_usd: '25.00' });
    expect(await first.stop()).toBe(0);
    const second = await start();
    expect(second.apiKey).toBeNull();
    expect((await chat(second, apiKey, 'hello')).status).toBe(200);
  });

  it('is alive at once and ready soon', async () => {
    const gateway = await start();
    expect((await fetch(`${gateway.url}/health/live`)).status).toBe(200);
    await expect
      .poll(async () => (await fetch(`${gateway.url}/health/ready`)).status, { timeout: 60_000 })
      .toBe(200);
  });

  it.each<[Record<string, string>, string[], RegExp]>([
    [{ PORT: 'eighty' }, [], /^PORT: must be a whole number from 0 to 65535\n$/],
    [{ DATABASE_URL: 'nonsense' }, [], /^DATABASE_URL: .*\n$/],
    [{ CAUSEWAY_CONFIG: '/does/not/exist.yaml' }, [], /^CAUSEWAY_CONFIG: .* cannot be read\n$/],
    [{}, ['--env-file', '/does/not/exist.env'], /^--env-file: .* cannot be read\n$/],
    [{}, ['--prot', '1'], /^.*--prot.*\n$/],
    [
      { DATBASE_URL: 'postgres://127.0.0.1/causeway' },
      [],
      /^DATBASE_URL: there is no such setting; rename it to DATABASE_URL, or unset it .*\n$/,
    ],
    [{ X402_SOLANA_PAY_TO: 'me' }, [], /^X402_SOLANA_PAY_TO: me is not a Solana address\n$/],
  ])('with the wrong setting %j %j ends with one line and exit code 2', async (environment, args, line) => {
    const { exitCode, stderr, stdout } = await run([...gatewayArguments, ...args], environment);
    expect(stderr).toMatch(line);
    expect(stderr.trimEnd()).not.toContain('\n');
    expect(exitCode).toBe(2);
    expect(stdout).toBe('');
  });

  it('without its database ends with 1, so that a supervisor tries again', async () => {
    const { exitCode, stderr } = await run(gatewayArguments, { DATABASE_URL: 'postgres://127.0.0.1:1/a' });
    expect(stderr).toMatch(/^Causeway could not start: .*DATABASE_URL: .*ECONNREFUSED 127\.0\.0\.1:1\)+\n$/);
    expect(exitCode).toBe(1);
  });

  it('on the store of a newer version ends with one line and exit code 2', async () => {
    layDataFolder(dataDir);
    const database = new DatabaseSync(embeddedStoreFile(dataDir));
    database.exec(`insert into kysely_migration values ('9999-of-a-newer-version', '2027-11-01')`);
    database.close();
    const { exitCode, stderr } = await run(gatewayArguments, { PORT: '0' });
    expect(stderr).toMatch(/^DATA_DIR: .*a newer version of Causeway .*9999-of-a-newer-version.*\n$/);
    expect(exitCode).toBe(2);
  });

  it('is refused clearly on a data folder that another gateway has, and harms nothing', async () => {
    layDataFolder(dataDir);
    const first = await start();
    const second = await run(gatewayArguments, { PORT: '0' });
    expect(second.exitCode).toBe(2);
    expect(second.stderr).toMatch(/^DATA_DIR: .* is in use by another gateway; .*\n$/);
    expect((await chat(first, keyOf(first), 'still there?')).status).toBe(200);
  });

  it('is refused clearly on a port that is taken', async () => {
    layDataFolder(dataDir);
    const first = await start();
    const other = join(dataDir, 'other');
    const second = await run(gatewayArguments, { PORT: new URL(first.url).port, DATA_DIR: other });
    expect(second.exitCode).toBe(2);
    expect(second.stderr).toMatch(/^PORT: \d+ on 127\.0\.0\.1 is in use/);
  });
});

describe('SIGTERM', () => {
  startOnLaidFolder();
  it('lets running answers finish and be read, refuses new work with 503, and ends with 0', async () => {
    const gateway = await start();
    const apiKey = keyOf(gateway);
    expect((await chat(gateway, apiKey, 'made before', {}, 'before')).status).toBe(200);
    const answering = chat(gateway, apiKey, '[sandbox:slow=12] last words', { stream: true });
    await expect.poll(() => jobStatuses(gateway)).toEqual(['running', 'done']);
    const ended = gateway.stop();
    const readiness = async (): Promise<unknown> => (await fetch(`${gateway.url}/health/ready`)).json();
    await expect.poll(readiness).toMatchObject({ ready: false, draining: true });
    const refused = await chat(gateway, apiKey, 'too late');
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([503, true]);
    expect(await refused.json()).toMatchObject({ error: { type: 'server_error', code: 'shutting_down' } });
    // A second signal, as a launcher or a terminal sends, does not cut the drain.
    process.kill(gateway.pid, 'SIGTERM');
    const again = await chat(gateway, apiKey, 'made before', {}, 'before');
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(await jobStatuses(gateway)).toEqual(['running', 'done']);
    const text = await (await answering).text();
    expect(text).toContain('data: [DONE]');
    expect(await ended).toBe(0);
    await expect(chat(gateway, apiKey, 'too late')).rejects.toThrow('fetch failed');
    const { stdout } = await run([...cliArguments, 'ledger', 'check', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ problems: [], open_holds: 0 });
  });
});

describe('SIGHUP', () => {
  startOnLaidFolder();
  it('reads the settings again, and a running answer goes on', async () => {
    const file = join(dataDir, 'causeway.yaml');
    const write = (usd: string): Promise<void> => {
      const price = `price: { unit: call, price_usd: "${usd}" }`;
      return writeFile(file, `models:\n  talk: { kind: chat, ${price}, routes: [{ provider: sandbox }] }\n`);
    };
    await write('0.04');
    const gateway = await start({ CAUSEWAY_CONFIG: file });
    const headers = { authorization: `Bearer ${keyOf(gateway)}` };
    const prices = async () => (await fetch(`${gateway.url}/v1/models`, { headers })).text();
    const answering = chat(gateway, keyOf(gateway), '[sandbox:slow=2] last words', {
      model: 'talk',
      stream: true,
    });
    await expect.poll(() => jobStatuses(gateway)).toEqual(['running']);
    await write('0.05');
    process.kill(gateway.pid, 'SIGHUP');
    await expect.poll(prices, { timeout: 60_000 }).toContain('"0.05"');
    expect(await (await answering).text()).toContain('data: [DONE]');
    await writeFile(file, 'models: nothing');
    process.kill(gateway.pid, 'SIGHUP');
    expect(await gateway.stop()).toBe(0);
  });

  it('reads an env file again, although its variables became those of the process', async () => {
    const file = join(dataDir, 'settings.env');
    await writeFile(file, 'REQUESTS_PER_MINUTE=7\n');
    const gateway = await startGatewayProcess(settings(), [
      'sh',
      '-c',
      `exec "$@" --env-file '${file}'`,
      'sh',
    ]);
    running.push(gateway);
    const limit = async () =>
      (await chat(gateway, keyOf(gateway), 'Say hello.')).headers.get('x-ratelimit-limit-requests');
    expect(await limit()).toBe('7');
    await writeFile(file, 'REQUESTS_PER_MINUTE=900\n');
    process.kill(gateway.pid, 'SIGHUP');
    await expect.poll(limit, { timeout: 60_000, interval: 1_000 }).toBe('900');
  });
});

describe('a signal to npm', () => {
  startOnLaidFolder();
  it('ends npm and its shell alone; the gateway notices, drains and gives its folder free', async () => {
    const shell = spawn(
      'sh',
      ['-c', `"${process.execPath}" ${gatewayArguments.map((word) => `"${word}"`).join(' ')}; true`],
      {
        env: { ...settings(), npm_lifecycle_event: 'start' },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let printed = '';
    for await (const chunk of shell.stdout) {
      printed += String(chunk);
      if (printed.includes('Stop it with')) break;
    }
    const url = /listening on (\S+)/.exec(printed)?.[1] ?? '';
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    shell.kill('SIGTERM');
    const isGone = (): Promise<boolean> =>
      fetch(`${url}/health/live`).then(
        () => false,
        () => true,
      );
    await expect.poll(isGone, { timeout: 60_000 }).toBe(true);
    await expect.poll(() => start(), { timeout: 60_000 }).toBeDefined();
  });
});

describe('kill -9 under load', () => {
  startOnLaidFolder();
  it('loses no acknowledged write, frees the holds of dead work, and leaves the books right', async () => {
    let gateway = await start();
    const apiKey = keyOf(gateway);
    const acknowledged: string[] = [];

    for (let round = 0; round < 3; round += 1) {
      const current = gateway;
      let isOver = false;
      const load = Array.from({ length: 8 }, async (_, worker) => {
        for (let index = 0; !isOver && index < 1_000; index += 1) {
          const slow = index % 4 === 3 ? '[sandbox:slow=5] ' : '';
          try {
            const response = await chat(current, apiKey, `${slow}${round}.${worker}.${index}`);
            if (response.status === 200) acknowledged.push(((await response.json()) as { id: string }).id);
          } catch {
            // The process was killed under this request.
            return;
          }
        }
      });
      // Killed in the middle of work that has begun to be answered, however slow the machine is.
      const answeredBefore = acknowledged.length;
      await vi.waitUntil(() => acknowledged.length > answeredBefore, { timeout: 60_000, interval: 20 });
      await new Promise((resolve) => setTimeout(resolve, 300 + round * 300));
      await current.kill();
      isOver = true;
      await Promise.all(load);
      gateway = await start();
    }

    const bearer = { headers: { authorization: `Bearer ${apiKey}` } };
    const newest = async (): Promise<unknown> => {
      const jobs = await fetch(`${gateway.url}/v1/jobs?limit=1`, bearer);
      return jobs.json();
    };
    const lost = chat(gateway, apiKey, '[sandbox:slow=60] lost', { model: 'textmodel-3.1-pro' }, 'lost');
    await expect
      .poll(newest, { timeout: 60_000 })
      .toMatchObject({ data: [{ status: 'running', model: 'textmodel-3.1-pro' }] });
    await Promise.all([expect(lost).rejects.toThrow('fetch failed'), gateway.kill()]);
    gateway = await start();

    for (const id of acknowledged) {
      const job = await fetch(`${gateway.url}/v1/jobs/${id}`, bearer);
      expect(await job.json()).toMatchObject({ status: 'done' });
    }
    const operator = operatorOf({ DATA_DIR: dataDir });
    const check = () => operator.answer(documents.ledger, 'ledger', 'check');
    expect((await check()).problems).toEqual([]);
    // Leases of dead work run out after half a minute.
    await expect.poll(async () => (await check()).open_holds, { timeout: 60_000, interval: 2_000 }).toBe(0);
    const anew = await chat(gateway, apiKey, 'no longer lost', {}, 'lost');
    expect([anew.status, anew.headers.has('idempotent-replayed')]).toEqual([200, false]);
    expect((await check()).problems).toEqual([]);
  });
});
