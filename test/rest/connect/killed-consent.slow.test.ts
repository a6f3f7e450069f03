import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGatewayProcess, type GatewayProcess } from '../../../scripts/gateway-process.ts';
import { createAssistant, openBrowser } from './assistant.ts';

let folder: string;
let gateway: GatewayProcess;
let apiKey: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'killed-consent-'));
  gateway = await startGatewayProcess({ DATA_DIR: folder, LOG_LEVEL: 'error' });
  apiKey = gateway.apiKey ?? '';
});
afterAll(async () => {
  await gateway.stop();
  await rm(folder, { recursive: true, force: true });
});

const killAndStart = async (): Promise<void> => {
  const { port } = new URL(gateway.url);
  await gateway.kill();
  gateway = await startGatewayProcess({ DATA_DIR: folder, LOG_LEVEL: 'error', PORT: port });
};

/** Brings a person to the page of consent. `allow` sends its form, and leads back to the assistant. */
const openPage = async () => {
  const assistant = createAssistant(`${gateway.url}/mcp/account`);
  const { page, finish } = await assistant.begin();
  const browser = openBrowser();
  const first = await browser.go(page);
  const entered = new URL(first.headers.get('location') ?? '', gateway.url);
  const body = new URLSearchParams([
    ['key', apiKey],
    ['budget_day_usd', '5.00'],
    ['answer', 'allow'],
    ['scope', 'read'],
  ]);
  const allow = async (): Promise<URL> => {
    const back = await browser.follow(await browser.go(entered, { method: 'POST', body }), gateway.url);
    if (back instanceof Response) throw new Error(`${back.status} ${await back.text()}`);
    return back;
  };
  return { assistant, finish, allow };
};

const countConnections = async (): Promise<number> => {
  const response = await fetch(`${gateway.url}/v1/connections`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  const { data } = (await response.json()) as { data: unknown[] };
  return data.length;
};

const expectToRead = async ({ connect }: ReturnType<typeof createAssistant>): Promise<void> => {
  const client = await connect();
  const { structuredContent } = await client.callTool({ name: 'get_balance', arguments: {} });
  expect(structuredContent).toMatchObject({ balance_usd: '25.00' });
  await client.close();
};

describe('a gateway that is killed between consent and token', () => {
  it('takes the code that it gave before', async () => {
    const { assistant, finish, allow } = await openPage();
    const back = await allow();
    expect(await countConnections()).toBe(0);
    await killAndStart();
    expect(await countConnections()).toBe(0);
    await finish(back);
    await expectToRead(assistant);
    expect(await countConnections()).toBe(1);
  });

  it.each([0, 2, 5, 10, 20, 40])(
    'shows no half connection, killed %s ms after the form was sent',
    async (ms) => {
      const before = await countConnections();
      const begun = await openPage();
      const allowed = begun.allow().catch(() => null);
      await sleep(ms);
      await killAndStart();
      const back = await allowed;
      expect(await countConnections()).toBe(before);
      if (back !== null) await begun.finish(back);
      const { assistant, finish, allow } = back === null ? await openPage() : begun;
      if (back === null) await finish(await allow());
      await expectToRead(assistant);
      expect(await countConnections()).toBe(before + 1);
    },
  );
});
