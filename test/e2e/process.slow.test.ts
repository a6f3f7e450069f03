import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client as NewClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewStdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startGatewayProcess, type GatewayProcess } from '../../scripts/gateway-process.ts';
import { cliArguments, gatewayArguments } from '../../scripts/node-arguments.ts';
import { newApiKey } from '../../src/kit/ids.ts';
import { documents, operatorOf } from '../cli/run-cli.ts';
import { layDataFolder } from '../data-template.ts';

const firstAccountId = '5a0db0e5-0000-4000-8000-000000000001';

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

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

const run = (words: readonly string[], environment: Record<string, string>): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(
      process.execPath,
      words,
      {
        env: { PATH: process.env['PATH'], DATA_DIR: dataDir, LOG_LEVEL: 'silent', ...environment },
        timeout: 120_000,
      },
      (error, stdout, stderr) => {
        resolve({
          code: typeof error?.code === 'number' ? error.code : error === null ? 0 : null,
          stdout,
          stderr,
        });
      },
    );
  });

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
    const { code, stderr, stdout } = await run([...gatewayArguments, ...args], environment);
    expect(stderr).toMatch(line);
    expect(stderr.trimEnd()).not.toContain('\n');
    expect(code).toBe(2);
    expect(stdout).toBe('');
  });

  it('is refused clearly on a data folder that another gateway has, and harms nothing', async () => {
    layDataFolder(dataDir);
    const first = await start();
    const second = await run(gatewayArguments, { PORT: '0' });
    expect(second.code).toBe(2);
    expect(second.stderr).toMatch(/^DATA_DIR: .* is in use by another gateway; .*\n$/);
    expect((await chat(first, keyOf(first), 'still there?')).status).toBe(200);
  });

  it('is refused clearly on a port that is taken', async () => {
    layDataFolder(dataDir);
    const first = await start();
    const other = join(dataDir, 'other');
    const second = await run(gatewayArguments, { PORT: new URL(first.url).port, DATA_DIR: other });
    expect(second.code).toBe(2);
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
    const { stdout } = await run([...cliArguments, 'ledger', 'check', '--json'], {});
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

describe('stdio on a folder of its own', () => {
  startOnLaidFolder();
  it('acts for the first account at every start, with a key that the next start revokes', async () => {
    const keys = async (): Promise<{ label: string; revoked_at: string | null }[]> => {
      const { stdout } = await run([...cliArguments, 'keys', 'list', firstAccountId, '--json'], {});
      return (JSON.parse(stdout) as { api_keys: { label: string; revoked_at: string | null }[] }).api_keys;
    };
    for (const _start of [1, 2, 3]) {
      const assistant = new Client({ name: 'test', version: '1' });
      await assistant.connect(
        new StdioClientTransport({
          command: process.execPath,
          args: [...gatewayArguments, '--stdio'],
          env: settings(),
          stderr: 'ignore',
        }),
      );
      const { structuredContent } = await assistant.callTool({ name: 'get_balance', arguments: {} });
      expect(structuredContent).toMatchObject({ balance_usd: '25.00', currency: 'USD' });
      await assistant.close();
    }
    expect((await keys()).map(({ label, revoked_at: at }) => [label, at === null])).toEqual(
      expect.arrayContaining([
        ['first key', true],
        ['stdio', true],
        ['stdio', false],
      ]),
    );
  });
});

describe('the stdio configuration of the README', () => {
  const spawned = async (more: Record<string, string> = {}) => {
    const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
    const text = /```json\n(\{ "command".*?)```/s
      .exec(readme)?.[1]
      ?.replace('/path/to/causeway', fileURLToPath(new URL('../..', import.meta.url)))
      .replace('/path/to/a/folder', join(dataDir, 'new', 'folder'));
    const { env, ...command } = JSON.parse(text ?? '') as { command: string; args: string[]; env: object };
    return { ...command, env: { ...settings(), ...env, PORT: '0', ...more } };
  };
  const chosenKey = newApiKey('causeway');
  const balanceOf = { balance_usd: '25.00', currency: 'USD' };

  it('works as written on a new folder, with the clients of both packages', async () => {
    const first = new Client({ name: 'test', version: '1' });
    await first.connect(new StdioClientTransport({ ...(await spawned()), stderr: 'ignore' }));
    const { structuredContent } = await first.callTool({ name: 'get_balance', arguments: {} });
    expect(structuredContent).toMatchObject(balanceOf);
    await first.close();
    const second = new NewClient({ name: 'test', version: '1' });
    await second.connect(new NewStdioClientTransport({ ...(await spawned()), stderr: 'ignore' }));
    expect(await second.callTool({ name: 'get_balance' })).toMatchObject({ structuredContent: balanceOf });
    await second.close();
  });

  it('with a key makes it the key of the first account of a new folder, and takes no other one later', async () => {
    for (const _start of [1, 2]) {
      const assistant = new NewClient({ name: 'test', version: '1' });
      const transport = new NewStdioClientTransport({
        ...(await spawned({ CAUSEWAY_API_KEY: chosenKey })),
        stderr: 'pipe',
      });
      let told = '';
      transport.stderr?.on('data', (text: Buffer) => (told += text.toString()));
      await assistant.connect(transport);
      expect(await assistant.callTool({ name: 'get_balance' })).toMatchObject({
        structuredContent: balanceOf,
      });
      await assistant.close();
      expect(told).not.toContain(chosenKey);
    }
    const { env } = await spawned({ CAUSEWAY_API_KEY: newApiKey('causeway') });
    const other = await run([...gatewayArguments, '--stdio'], env);
    expect([other.code, other.stdout]).toEqual([2, '']);
    expect(other.stderr).toMatch(/\nCAUSEWAY_API_KEY: the key is unknown here, .*keys issue ACCOUNT_ID/);
  });

  it.each(['sk_causeway_...', 'YOUR_API_KEY', `sk_causeway_${'x'.repeat(43)}`])(
    'with the placeholder %s says what to do, and makes nothing',
    async (placeholder) => {
      const { env } = await spawned({ CAUSEWAY_API_KEY: placeholder });
      const { code, stdout, stderr } = await run([...gatewayArguments, '--stdio'], env);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(
        /^CAUSEWAY_API_KEY: is not an API key, .* Remove it: .*keys issue ACCOUNT_ID" made\n$/,
      );
      expect(existsSync(join(dataDir, 'new'))).toBe(false);
    },
  );
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

describe('stdio', () => {
  startOnLaidFolder();
  it('keeps standard output for the protocol and ends when the assistant leaves', async () => {
    const child = spawn(process.execPath, [...gatewayArguments, '--stdio'], {
      env: settings(),
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const exited = once(child, 'exit');
    const lines: string[] = [];
    child.stdout.setEncoding('utf8').on('data', (text: string) => lines.push(text));
    const initialize = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    };
    child.stdin.write(`${JSON.stringify(initialize)}\n`);
    await expect.poll(() => lines.join(''), { timeout: 60_000 }).toContain('\n');
    expect(JSON.parse(lines.join(''))).toMatchObject({ id: 1, result: { protocolVersion: '2025-06-18' } });
    child.stdin.end();
    expect((await exited)[0]).toBe(0);
  });
});
