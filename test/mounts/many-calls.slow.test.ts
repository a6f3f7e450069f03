import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { formatUsd, parseUsd } from '../../src/kit/money.ts';
import type { TestGateway } from '../e2e/start-test-gateway.ts';
import { openAccount } from '../mcp/open-account.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { connectClient } from './connect-client.ts';
import { programOf } from './mount-yaml.ts';
import { startMountingGateway } from './start-mounting-gateway.ts';

const callers = 64;
const callsEach = 32;
const price = parseUsd('0.002');

/** One caller: most calls succeed, some fail, and some are sent twice under one Idempotency-Key. Returns the successes. */
const callManyTimes = async (gateway: TestGateway, apiKey: string, caller: number): Promise<number> => {
  const client = await connectClient(`${gateway.url}/mcp/tools`, apiKey);
  let done = 0;
  for (let count = 0; count < callsEach; count += 1) {
    const fails = (caller + count) % 8 === 0;
    const message = `${caller} ${count}`;
    const request = {
      name: 'everything__echo',
      arguments: { message: fails ? count : message },
      _meta: { 'causeway/idempotency-key': randomUUID() },
    };
    const call = () => client.callTool(request);
    const answers = count % 16 === 1 && !fails ? await Promise.all([call(), call()]) : [await call()];
    for (const { isError, content } of answers) {
      expect(isError === true).toBe(fails);
      if (!fails) expect(JSON.stringify(content)).toContain(`Echo: ${message}`);
    }
    if (!fails) done += 1;
  }
  return done;
};

it('2,000 calls of a mounted tool by 64 callers at once are charged exactly', async () => {
  const gateway = await startMountingGateway({
    everything: { args: [programOf('everything'), 'stdio'], prices: { echo: 0.002 }, concurrent_calls: 4 },
  });
  onTestFinished(() => gateway.stop());
  await acceptToolsOf(gateway.services, 'everything');
  const accounts = await Promise.all(
    Array.from({ length: callers }, () => openAccount(gateway.services, { amount: parseUsd('1') })),
  );
  const done = await Promise.all(accounts.map(({ apiKey }, index) => callManyTimes(gateway, apiKey, index)));
  const { store } = gateway.services;
  for (const [index, { accountId }] of accounts.entries()) {
    const account = await store.getAccount(accountId);
    const spent = BigInt(done[index] ?? 0) * price;
    expect(account).toMatchObject({ balance: parseUsd('1') - spent, held: 0n });
  }
  const total = done.reduce((sum, count) => sum + count, 0);
  expect(total).toBe((callers * callsEach * 7) / 8);
  const [tool] = await store.sumToolCalls({ from: 0, to: Number.MAX_SAFE_INTEGER });
  expect(tool).toMatchObject({ model: 'everything__echo' });
  expect(formatUsd(tool?.income ?? 0n)).toBe(formatUsd(BigInt(total) * price));
  expect((await store.checkLedger()).problems).toEqual([]);
});
