import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client as NewClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewStdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cliArguments, gatewayArguments } from '../../scripts/node-arguments.ts';
import { newApiKey } from '../../src/kit/ids.ts';
import { runNode, type Ended } from '../cli/run-cli.ts';
import { layDataFolder } from '../data-template.ts';

const firstAccountId = '5a0db0e5-0000-4000-8000-000000000001';

let dataDir: string;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'causeway-stdio-'));
});

afterEach(() => rm(dataDir, { recursive: true, force: true }));

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

const run = (words: readonly string[], environment: Record<string, string> = {}): Promise<Ended> =>
  runNode(words, { env: { DATA_DIR: dataDir, LOG_LEVEL: 'silent', ...environment } });

describe('stdio on a folder of its own', () => {
  startOnLaidFolder();
  it('acts for the first account at every start, with a key that the next start revokes', async () => {
    const keys = async (): Promise<{ label: string; revoked_at: string | null }[]> => {
      const { stdout } = await run([...cliArguments, 'keys', 'list', firstAccountId, '--json']);
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
    expect([other.exitCode, other.stdout]).toEqual([2, '']);
    expect(other.stderr).toMatch(/\nCAUSEWAY_API_KEY: the key is unknown here, .*keys issue ACCOUNT_ID/);
  });

  it.each(['sk_causeway_...', 'YOUR_API_KEY', `sk_causeway_${'x'.repeat(43)}`])(
    'with the placeholder %s says what to do, and makes nothing',
    async (placeholder) => {
      const { env } = await spawned({ CAUSEWAY_API_KEY: placeholder });
      const { exitCode, stdout, stderr } = await run([...gatewayArguments, '--stdio'], env);
      expect([exitCode, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(
        /^CAUSEWAY_API_KEY: is not an API key, .* Remove it: .*keys issue ACCOUNT_ID" made\n$/,
      );
      expect(existsSync(join(dataDir, 'new'))).toBe(false);
    },
  );
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
