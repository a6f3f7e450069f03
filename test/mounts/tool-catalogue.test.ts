import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../e2e/start-test-gateway.ts';
import { openAccount } from '../mcp/open-account.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { connectClient, namesOf } from './connect-client.ts';
import { hostileProgram, programOf } from './mount-yaml.ts';
import { startMountingGateway } from './start-mounting-gateway.ts';

let folder: string;
let file: string;
let gateway: TestGateway;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-catalogue-'));
  file = join(folder, 'a.txt');
  await writeFile(file, 'hello');
  gateway = await startMountingGateway(
    {
      files: { args: [programOf('filesystem'), folder], prices: { read_text_file: '0.25' }, account: true },
      hostile: { args: [hostileProgram], allow: ['echo'] },
    },
    { TOOLS_LISTED_MAX: '3' },
  );
  await acceptToolsOf(gateway.services, 'files');
  await acceptToolsOf(gateway.services, 'hostile');
});
afterAll(async () => {
  await gateway.stop();
  await rm(folder, { recursive: true });
});

const standIns = ['search_tools', 'call_read_tool', 'call_tool'];
const connect = (path: string, apiKey = gateway.apiKey) => connectClient(gateway.url + path, apiKey);
const input = () => ({ name: 'files__read_text_file', arguments: { path: file } });

describe('an address with more tools than TOOLS_LISTED_MAX', () => {
  it('lists a search and two calls in their place, and our own tools where there are some', async () => {
    const client = await connect('/mcp/tools');
    const { tools } = await client.listTools();
    expect(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint])).toEqual([
      ['search_tools', true],
      ['call_read_tool', true],
      ['call_tool', false],
    ]);
    expect(await namesOf(await connect('/mcp/tools/files'))).toEqual(standIns);
    expect(await namesOf(await connect('/mcp/tools/hostile'))).toEqual(['hostile__echo']);
    const account = await namesOf(await connect('/mcp/account'));
    expect(account).toEqual(expect.arrayContaining(['create_image', 'get_balance', ...standIns]));
    expect(account.filter((name) => name.includes('__'))).toEqual([]);
  });

  it('lists the tools themselves to a key that has few', async () => {
    const made = await gateway.call('/v1/keys', { body: { tools: ['files__read_text_file', 'hostile'] } });
    const { key } = (await made.json()) as { key: string };
    expect(await namesOf(await connect('/mcp/tools', key))).toEqual([
      'files__read_text_file',
      'hostile__echo',
    ]);
  });

  it('finds tools by words in their names, titles and descriptions, with schema and price', async () => {
    const client = await connect('/mcp/tools');
    const search = async (query: unknown) =>
      (await client.callTool({ name: 'search_tools', arguments: { query } })) as {
        isError?: boolean;
        structuredContent: { tools: Record<string, unknown>[]; more: number; hint?: string };
      };
    const { tools } = (await search('Text FILE read')).structuredContent;
    expect(tools[0]).toMatchObject({
      name: 'files__read_text_file',
      input_schema: { type: 'object', required: ['path'] },
      price_usd: '0.25',
      read_only: true,
    });
    expect((await search('hostile')).structuredContent.tools).toHaveLength(1);
    expect((await search('zebra')).structuredContent).toMatchObject({
      tools: [],
      hint: expect.stringContaining('Servers: files, hostile'),
    });
    expect(
      await client.callTool({ name: 'search_tools', arguments: { query: 'a', qeury: 'b' } }),
    ).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'invalid_parameter', param: 'qeury' } },
    });
    for (const query of ['', '...', 7, undefined])
      expect(await search(query)).toMatchObject({
        isError: true,
        structuredContent: { error: { code: 'invalid_parameter', param: 'query' } },
      });
    const own = await connect('/mcp/tools/files');
    const { structuredContent } = await own.callTool({ name: 'search_tools', arguments: { query: 'echo' } });
    expect(JSON.stringify(structuredContent)).not.toContain('hostile');
  });

  it('calls a tool by what stands for it, at its own price and with its own idempotency key', async () => {
    const { apiKey, accountId } = await openAccount(gateway.services);
    const _meta = { 'causeway/idempotency-key': 'read-1' };
    const balance = async () => (await gateway.services.store.getAccount(accountId))?.balance;
    for (const path of ['/mcp/tools', '/mcp/account']) {
      const client = await connect(path, apiKey);
      for (const name of ['call_read_tool', 'call_tool']) {
        const result = await client.callTool({ name, arguments: input(), _meta });
        expect(result.content).toEqual([{ type: 'text', text: 'hello' }]);
      }
    }
    expect(await balance()).toBe(9_750_000_000n);
    const client = await connect('/mcp/tools', apiKey);
    await client.callTool(input());
    expect(await balance()).toBe(9_500_000_000n);
  });

  it('changes nothing by call_read_tool', async () => {
    const client = await connect('/mcp/tools');
    const written = { name: 'files__write_file', arguments: { path: file, content: 'changed' } };
    expect(await client.callTool({ name: 'call_read_tool', arguments: written })).toMatchObject({
      isError: true,
      structuredContent: { error: { message: expect.stringContaining('call_tool') } },
    });
    expect(await readFile(file, 'utf8')).toBe('hello');
    const other = { ...written, arguments: { ...written.arguments, path: join(folder, 'b.txt') } };
    expect(await client.callTool({ name: 'call_tool', arguments: other })).not.toHaveProperty('isError');
    expect(await readFile(join(folder, 'b.txt'), 'utf8')).toBe('changed');
  });

  it.each([
    [{}, 'search_tools'],
    [{ name: { toString: 1, valueOf: 1 } }, 'search_tools'],
    [{ name: 'files__read_text_file', arguments: 'a' }, 'search_tools'],
    [{ name: 'files__none', arguments: {} }, 'search'],
    [
      { name: 'files__read_text_file', argument: {} },
      'argument: is not a field here; did you mean arguments?',
    ],
    [{ name: 'files__read_text_file', path: 'a' }, 'path: is not a field here; put it in arguments'],
    [{ name: 'call_tool', arguments: { name: 'hostile__echo' } }, 'search'],
  ])('tells a call of %j what to do', async (wrong, said) => {
    const client = await connect('/mcp/tools');
    for (const name of ['call_tool', 'call_read_tool']) {
      const result = await client.callTool({ name, arguments: wrong });
      expect(result.isError).toBe(true);
      expect(JSON.stringify(result.content)).toContain(said);
    }
  });
});
