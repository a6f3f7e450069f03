import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nanoPerUsd } from '../../src/kit/money.ts';
import type { TestGateway } from '../e2e/start-test-gateway.ts';
import { openAccount } from '../mcp/open-account.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { hostileProgram } from './mount-yaml.ts';
import { openWallet } from '../mcp/open-wallet.ts';
import { startMountingGateway } from './start-mounting-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  const own = { args: [hostileProgram], allow: ['echo', 'hang'], per_account: ['TOKEN'] };
  gateway = await startMountingGateway(
    { shared: { args: [hostileProgram], allow: ['echo', 'hang', 'die'] }, own, other: own },
    { TOOLS_SECRETS_KEY: '0c'.repeat(32), TOOLS_PROCESSES_MAX: '4' },
  );
  for (const server of ['shared', 'own', 'other']) await acceptToolsOf(gateway.services, server);
});
afterAll(() => gateway.stop());

const openWallets = (count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => openWallet(gateway.services)));

const call = async (path: string, apiKey: string): Promise<number> =>
  (await gateway.call(`/v1/tools/${path}`, { apiKey, body: {} })).status;

const setSecret = (server: string, apiKey: string, TOKEN: string): Promise<Response> =>
  gateway.call(`/v1/tools/${server}/secrets`, { method: 'PUT', apiKey, body: { secrets: { TOKEN } } });

/** Lets calls hang, and counts those that are refused. */
const hang = (calls: readonly (readonly [path: string, apiKey: string])[]) => {
  const hanging = { refused: 0, ended: Promise.resolve<unknown>(null) };
  hanging.ended = Promise.all(
    calls.map(async ([path, apiKey]) => {
      if ((await call(path, apiKey)) === 429) hanging.refused += 1;
    }),
  );
  return hanging;
};

describe('accounts of wallets without money', () => {
  it('have half of the calls of a server together, and the others are for all other accounts', async () => {
    const wallets = await openWallets(2);
    const hanging = hang(wallets.flatMap((key) => Array.from({ length: 32 }, () => ['shared/hang', key])));
    await expect.poll(() => hanging.refused, { timeout: 30_000 }).toBe(32);
    const paid = await openWallet(gateway.services, { amount: nanoPerUsd });
    const { apiKey: unfunded } = await openAccount(gateway.services, { amount: 0n });
    for (const key of [gateway.apiKey, paid, unfunded]) expect(await call('shared/echo', key)).toBe(200);
    expect(await call('shared/echo', wallets[0]!)).toBe(429);
    await call('shared/die', paid);
    await hanging.ended;
    await expect.poll(() => call('shared/echo', wallets[0]!), { timeout: 30_000 }).toBe(200);
  });

  it('keep half of the processes for accounts busy at most', async () => {
    const wallets = await openWallets(4);
    const calls = wallets.map((key, index) => [index % 2 === 0 ? 'own' : 'other', key] as const);
    for (const [server, key] of [...calls, ['own', gateway.apiKey] as const])
      expect((await setSecret(server, key, 'a secret')).status).toBe(200);
    const hanging = hang(calls.map(([server, key]) => [`${server}/hang`, key]));
    await expect.poll(() => hanging.refused, { timeout: 30_000 }).toBe(2);
    expect(await call('own/echo', gateway.apiKey)).toBe(200);
    for (const [server, key] of calls) await setSecret(server, key, 'another secret');
    await hanging.ended;
  });
});
