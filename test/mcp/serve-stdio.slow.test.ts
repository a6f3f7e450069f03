import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { argumentsToRun } from '../../scripts/node-arguments.ts';
import { createAuthenticate } from '../../src/accounts/authenticate.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { silentLog } from '../../src/kit/log.ts';
import { serveStdio } from '../../src/mcp/serve-stdio.ts';
import { openStore } from '../../src/store/open-store.ts';
import { layDataFolder, templateProfiles } from '../data-template.ts';
import { operations, toolOperations } from '../operations/test-operations.ts';
import { clientKinds, type ChildProcess } from './clients.ts';
import { openAccount } from './open-account.ts';
import { startStubFacilitator, type StubFacilitator } from './stub-facilitator.ts';
import { toProof } from './to-proof.ts';
import { paymentSettings, startServices } from './start-services.ts';
import { revokeKey } from '../../src/accounts/keys.ts';

const script = new URL('./stdio-server.ts', import.meta.url);
let dataDir: string;
let apiKey: string;
let facilitator: StubFacilitator;

beforeAll(async () => {
  facilitator = await startStubFacilitator();
  dataDir = await mkdtemp(join(tmpdir(), 'mcp-stdio-'));
  layDataFolder(dataDir);
  const store = await openStore({ databaseUrl: null, dataDir }, { log: silentLog });
  ({ apiKey } = await openAccount({ store, clock: systemClock }));
  await store.close();
});
afterAll(async () => {
  await facilitator.close();
  await rm(dataDir, { recursive: true, force: true });
});

const child = (key: string | null): ChildProcess => ({
  command: process.execPath,
  args: argumentsToRun(script),
  env: {
    DATA_DIR: dataDir,
    SYNTHETIC_PROFILES: String(templateProfiles),
    ...paymentSettings,
    ...facilitator.environment,
    ...(key === null ? {} : { CAUSEWAY_API_KEY: key }),
  },
  stderr: 'ignore',
});

describe.each(clientKinds)('over stdio $name', ({ spawn: start }) => {
  it('without a key sees search_leads, its terms, and how to get a key', async () => {
    const client = await start(child(null));
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['search_leads']);
    const unpaid = await client.callTool('search_leads', { limit: 1 });
    expect(unpaid.isError).toBe(true);
    expect(unpaid._meta['x402/error']).toMatchObject({ x402Version: 2 });
    const meta = { 'x402/payment': toProof(unpaid.structuredContent) };
    // The profiles are being opened still: until then the search is refused, and nothing is paid.
    const paid = await vi.waitUntil(
      async () => {
        const result = await client.callTool('search_leads', { limit: 1 }, { meta });
        return result.isError ? null : result;
      },
      { timeout: 60_000, interval: 200 },
    );
    expect(paid.structuredContent).toMatchObject({ count: 1, results: [{ username: expect.any(String) }] });
    expect(paid.content[0]?.text).toMatch(/^1 profile for \$0\.10, .*\n\nusername\t/);
    const refused = await client.callTool('get_balance');
    expect(refused.structuredContent?.['error']).toMatchObject({
      code: 'invalid_api_key',
      message: expect.stringContaining('CAUSEWAY_API_KEY'),
    });
    await expect(client.readResource('causeway://models')).rejects.toThrow(
      /needs an API key\. .*CAUSEWAY_API_KEY/,
    );
    await expect(client.callTool('no_such_tool')).rejects.toThrow('Unknown tool: no_such_tool');
    await client.close();
  });

  it('with a key acts for its account', async () => {
    const client = await start(child(apiKey));
    expect((await client.listTools()).map(({ name }) => name)).toEqual(
      toolOperations.map(({ name }) => name),
    );
    const [models] = await client.readResource('causeway://models');
    expect(JSON.parse(models?.text ?? '')).toEqual((await client.callTool('list_models')).structuredContent);
    const answer = await client.callTool('create_chat_completion', {
      messages: [{ role: 'user', content: 'Say hello.' }],
    });
    expect(answer.structuredContent).toMatchObject({ object: 'chat.completion' });
    const balance = await client.callTool('get_balance');
    // Each kind of client buys one answer from the ten dollars.
    expect(Number(balance.structuredContent?.['balance_usd'])).toBeLessThan(10);
    await client.close();
  });
});

describe('a stdio server', () => {
  it('ends with an error when its key is wrong', async () => {
    const { command, args, env } = child('sk_causeway_wrong');
    const server = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
    const [[code], output] = await Promise.all([
      once(server, 'exit'),
      text(server.stdout),
      text(server.stderr),
    ]);
    expect([code, output]).toEqual([1, '']);
  });

  it('writes nothing but the protocol to standard output, and ends when its input ends', async () => {
    const { command, args, env } = child(null);
    const server = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    };
    server.stdout.once('data', () => server.stdin.end());
    server.stdin.write('this is not JSON\n');
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    const [[code], output] = await Promise.all([once(server, 'exit'), text(server.stdout)]);
    const messages = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(messages).toEqual([
      { jsonrpc: '2.0', id: 1, result: expect.objectContaining({ protocolVersion: '2025-11-25' }) },
    ]);
    expect(code).toBe(0);
  });

  it('turns calls into tool errors when its key is revoked meanwhile', async () => {
    const {
      services,
      apiKey: key,
      keyId,
      close,
    } = await startServices({ PUBLIC_URL: 'https://gateway.example' });
    const [input, output] = [new PassThrough(), new PassThrough()];
    const authenticate = createAuthenticate(services);
    const ended = serveStdio({ services, operations, authenticate, apiKey: key, input, output });
    const client = new Client({ name: 'test', version: '1' });
    // The transport is the same for both ends: lines of JSON.
    await client.connect(new StdioServerTransport(output, input));
    expect(await client.callTool({ name: 'get_balance' })).toMatchObject({
      structuredContent: { balance_usd: '10.00' },
    });
    await revokeKey(services, keyId);
    expect(await client.callTool({ name: 'get_balance' })).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'invalid_api_key' } },
    });
    await client.close();
    input.end();
    await ended;
    await close();
  });

  it('ends when it is told to', async () => {
    const { services, close } = await startServices({ PUBLIC_URL: 'https://gateway.example' });
    const stop = new AbortController();
    const ended = serveStdio({
      services,
      operations,
      authenticate: createAuthenticate(services),
      apiKey: null,
      input: new PassThrough(),
      output: new PassThrough(),
      signal: stop.signal,
    });
    stop.abort();
    await expect(ended).resolves.toBeUndefined();
    await close();
  });
});
