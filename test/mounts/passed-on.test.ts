import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { TestGateway } from '../e2e/start-test-gateway.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { hostileProgram } from './mount-yaml.ts';
import { startMountingGateway } from './start-mounting-gateway.ts';

const revision = '2026-07-28';
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startMountingGateway({
    hostile: {
      args: [hostileProgram],
      hide: ['steps'],
      meta: ['other'],
      prices: { dear: 1, echo: '0.5' },
      tools: {
        echo: {
          name: 'say',
          description: 'Says what it is told.',
          fixed: { root: '/srv', 'x-team': [1] },
          defaults: { head: 5 },
        },
        large: { max_characters: 2_000_000 },
        count: { max_characters: 100 },
        environment: { max_characters: 100 },
      },
    },
  });
  await acceptToolsOf(gateway.services, 'hostile');
});
afterAll(() => gateway.stop());

const connect = async (mode: 'legacy' | { pin: string }): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${gateway.apiKey}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp/tools`), { requestInit }),
  );
  onTestFinished(() => client.close());
  return client;
};
const rest = (tool: string, body: object = {}, key?: string): Promise<Response> =>
  gateway.call(`/v1/tools/hostile/${tool}`, {
    body,
    ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
  });
const textOf = async (answer: Response): Promise<string> => {
  const { content } = (await answer.json()) as { content: { text: string }[] };
  return content[0]?.text ?? '';
};
const keyed = (key: string) => ({ 'causeway/idempotency-key': key });

describe('a tool that the operator describes anew', () => {
  it('has its new name everywhere, and the pin of what its server lists', async () => {
    const client = await connect('legacy');
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain('hostile__say');
    expect(names).not.toContain('hostile__echo');
    const { tools } = (await (await gateway.call('/v1/tools')).json()) as { tools: { tool: string }[] };
    expect(tools.find(({ tool }) => tool === 'say')).toMatchObject({
      mcp_name: 'hostile__say',
      description: 'Says what it is told.',
      price_usd: '0.50',
    });
    expect((await rest('echo')).status).toBe(404);
    await expect(client.callTool({ name: 'hostile__echo', arguments: {} })).resolves.toMatchObject({
      isError: true,
    });
    const row = (await gateway.services.store.listMountedTools('hostile')).find(
      ({ tool }) => tool === 'echo',
    );
    expect(JSON.parse(row?.definition ?? '')).toMatchObject({ name: 'echo', description: 'Does echo.' });
  });

  it('is sent its fixed arguments whatever the caller sends, and its defaults', async () => {
    const first = await rest('say', { arguments: { root: '/etc', path: 'a' } });
    expect(first.headers.get('x-causeway-charge-usd')).toBe('0.50');
    expect(JSON.parse(await textOf(first))).toEqual({ head: 5, root: '/srv', path: 'a', 'x-team': [1] });
    const second = await rest('say', { arguments: { head: 1 } });
    expect(JSON.parse(await textOf(second))).toMatchObject({ head: 1 });
  });

  it('may answer as much as the operator allows it', async () => {
    expect((await textOf(await rest('large'))).length).toBe(1_200_000);
    expect(await textOf(await rest('environment'))).toMatch(/longer than 100 characters/);
  });
});

describe('what goes with a call', () => {
  it('reaches a server as far as it is of its business', async () => {
    const client = await connect('legacy');
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const ask = async (meta: object) => {
      const { content } = await client.callTool({ name: 'hostile__meta', arguments: {}, _meta: { ...meta } });
      return JSON.parse((content as { text: string }[])[0]?.text ?? '') as object;
    };
    const others = { tracestate: 'a=b', baggage: 'c=d', 'anthropic/x': 1, 'x402/other': 1 };
    expect(await ask({ traceparent, ...others })).toEqual({ traceparent, progressToken: expect.any(Number) });
    expect(Object.keys(await ask({ traceparent: 'a secret' }))).toEqual(['progressToken']);
  });

  it('reaches a caller if the operator names it, beside what the gateway says itself', async () => {
    expect(await (await rest('lie')).json()).toMatchObject({ _meta: { other: 1 } });
    const client = await connect('legacy');
    const { _meta: meta } = await client.callTool({ name: 'hostile__lie', arguments: {} });
    expect(Object.keys(meta ?? {}).filter((key) => !key.startsWith('causeway/'))).toEqual(['other']);
    expect(meta).toMatchObject({ other: 1, 'causeway/charge-usd': '0.00' });
  });

  it('is progress, which a caller hears before the answer', async () => {
    const client = await connect('legacy');
    const heard: object[] = [];
    const answer = await client.callTool(
      { name: 'hostile__wait', arguments: {} },
      {
        onprogress: (progress) => {
          if (heard.push(progress) === 1) void rest('release');
        },
      },
    );
    expect(heard[0]).toEqual({ progress: 1, total: 16, message: 'step 1' });
    expect(answer.content).toEqual([{ type: 'text', text: 'waited' }]);
  });
});

describe('a call that its caller cancels', () => {
  /** Calls a tool by its name, and cancels the call when it runs. */
  const cancel = async (mode: Parameters<typeof connect>[0], name: string, key: string): Promise<void> => {
    const client = await connect(mode);
    const cancelling = new AbortController();
    await expect(
      client.callTool(
        { name, arguments: {}, _meta: keyed(key) },
        { signal: cancelling.signal, onprogress: () => cancelling.abort() },
      ),
    ).rejects.toThrow(/abort/i);
  };
  const cancellations = async (): Promise<string> => textOf(await rest('cancellations'));

  it('is cancelled at the server if it is free, and never runs again under its key', async () => {
    const before = Number(await cancellations());
    await cancel({ pin: revision }, 'hostile__wait', 'wait-1');
    await expect.poll(cancellations).toBe(String(before + 1));
    const again = await rest('wait', {}, 'wait-1');
    expect(again.status).toBe(502);
    expect(await again.json()).toMatchObject({ error: { code: 'outcome_unknown' } });
  });

  it('goes on if it has a price, and is charged', async () => {
    const before = await cancellations();
    await cancel({ pin: revision }, 'hostile__dear', 'dear-1');
    const again = rest('dear', {}, 'dear-1');
    await rest('release');
    expect(await textOf(await again)).toBe('waited');
    expect((await again).headers.get('x-causeway-charge-usd')).toBe('1.00');
    expect(await cancellations()).toBe(before);
  });

  it('goes on if it came before the revision 2026-07-28, in which a lost connection says nothing', async () => {
    const before = await cancellations();
    await cancel('legacy', 'hostile__wait', 'wait-2');
    const again = rest('wait', {}, 'wait-2');
    await rest('release');
    expect(await textOf(await again)).toBe('waited');
    expect(await cancellations()).toBe(before);
  });
});
