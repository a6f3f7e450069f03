import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startCallbackReceiver, type CallbackReceiver } from '../../scripts/contract/callback-receiver.ts';
import { allChecks } from '../../scripts/contract/all-checks.ts';
import { runContract } from '../../scripts/contract/run-contract.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { nanoPerUsd } from '../../src/kit/money.ts';
import { sendExactly } from '../e2e/send-exactly.ts';
import { openAccount } from '../mcp/open-account.ts';
import { runLoad, type Done } from './load.ts';
import { startFleet, type Fleet } from './start-fleet.ts';

/** Decides what is asked for, not when. */
const seed = Number(process.env['FLEET_SEED'] ?? Date.now() % 1_000_000);

let fleet: Fleet;
let receiver: CallbackReceiver;
beforeAll(async () => {
  console.log(`FLEET_SEED=${seed}`);
  fleet = await startFleet();
  receiver = await startCallbackReceiver({ host: '127.0.0.1', port: 0, publicUrl: null });
}, 120_000);
afterAll(async () => {
  await receiver?.close();
  await fleet?.stop();
}, 60_000);

const open = (amount: bigint) =>
  openAccount({ store: fleet.store, clock: systemClock }, { amount: amount * nanoPerUsd });

const expectSoundBooks = async (): Promise<void> => {
  const isIdle = async (): Promise<number> => {
    const [row] = await fleet.sql<{ count: string }>(
      `select count(*) from jobs where status in ('queued', 'running')`,
    );
    return Number(row?.count);
  };
  await expect.poll(isIdle, { timeout: 60_000 }).toBe(0);
  expect(await fleet.store.checkLedger()).toMatchObject({ problems: [], openHolds: 0 });
};

it("the operator's API is behind nginx, however its path is written", async () => {
  for (const path of [
    '/admin/v1/accounts',
    '/console/admin/v1/accounts',
    '/admin\\v1/accounts',
    '/x\\..\\admin/v1/accounts',
    '/admin/v1/accounts/..%2f..%2f..%2fx',
    '/x/../admin/v1/accounts/..%2f..%2f..%2fx',
    '/%2e/admin/v1/accounts/..%2f..%2f..%2fx',
  ])
    expect([path, (await sendExactly(fleet.url, { path })).status]).toEqual([path, 404]);
});

it('two gateways behind nginx and PgBouncer keep every rule of the contract', async () => {
  const [rich, other, poor] = [await open(25n), await open(10n), await open(0n)];
  const { results } = await runContract({
    baseUrl: fleet.url,
    apiKey: rich.apiKey,
    otherKey: other.apiKey,
    poorKey: poor.apiKey,
    sandbox: true,
    video: true,
    deadlineSeconds: 10,
    rateLimit: true,
    only: null,
    allowSpendUsd: '2.00',
    webhook: { host: '127.0.0.1', port: 0, publicUrl: null },
    checksAtOnce: 8,
    requestsPerSecond: 1000,
    callTimeoutMs: 30_000,
    checkTimeoutMs: 90_000,
    runTimeoutMs: 150_000,
    jobTimeoutMs: 60_000,
  });
  const broken = results.filter(({ outcome }) => outcome !== 'passed');
  expect(broken).toEqual([]);
  expect(results).toHaveLength(allChecks.length);
  await expectSoundBooks();
}, 180_000);

const searchPrice = 100_000n;
const fundsOfBuyer = 100n * searchPrice;

const earned = async (): Promise<bigint> => {
  const { base, solana } = fleet.chains;
  return (await base.balanceOf(base.seller.address)) + (await solana.balanceOf(solana.seller.address));
};

/** Kills each replica in turn, and starts it again. The load goes on meanwhile: seconds with both, and with one. */
const killBoth = async (): Promise<void> => {
  for (const replica of fleet.replicas) {
    await delay(3_000);
    await replica.kill();
    await delay(2_000);
    await replica.start();
  }
  await delay(2_000);
};

/** Returns the rows of an account's jobs that were not charged exactly once. */
const readJobs = (accountId: string) =>
  fleet.sql<{ id: string; debits: string }>(
    `select id, (select count(*) from ledger_entries where job_id = jobs.id and type = 'debit') as debits
     from jobs where account_id = $1 and status = 'done'`,
    accountId,
  );

it('nothing is lost, charged or served twice when either gateway dies under load', async () => {
  const { base, solana } = fleet.chains;
  await base.mint(base.buyer.address, fundsOfBuyer);
  await solana.mint(solana.buyer.address, fundsOfBuyer);
  const { accountId, apiKey } = await open(100n);
  const before = await earned();

  let isOver = false;
  const deaths = killBoth().finally(() => (isOver = true));
  const load = runLoad({ fleet, apiKey, receiver, seed }, () => isOver);
  await Promise.allSettled([load, deaths]);
  await deaths;
  const { done, repeats } = await load;
  const idsOf = (...kinds: Done['kind'][]): string[] =>
    done.filter(({ kind }) => kinds.includes(kind)).map(({ id }) => id);
  const counts = (['chat', 'stream', 'image', 'search'] as const).map((kind) => [kind, idsOf(kind).length]);
  console.log({ ...Object.fromEntries(counts), repeats });
  expect(counts.every(([, count]) => Number(count) > 0)).toBe(true);
  // Otherwise no death met a request.
  expect(repeats).toBeGreaterThan(0);
  await expectSoundBooks();

  const expectOnce = async (): Promise<void> => {
    const jobs = await readJobs(accountId);
    const answered = idsOf('chat', 'stream', 'image').map((id) => id.replace('chatcmpl-', ''));
    expect(jobs.map(({ id }) => id).toSorted()).toEqual(answered.toSorted());
    expect(jobs.filter(({ debits }) => debits !== '1')).toEqual([]);
    const payments = await fleet.sql<{ state: string }>('select state from payments');
    const paid = payments.filter(({ state }) => state === 'settled' || state === 'delivered');
    expect(paid).toHaveLength(new Set(idsOf('search')).size);
    expect(payments).toHaveLength(idsOf('search').length);
    expect((await earned()) - before).toBe(BigInt(paid.length) * searchPrice);
  };
  await expectOnce();

  const unnotified = async () => {
    const events = await fleet.sql<{ id: string; url: string }>(
      'select job_id as id, url from webhook_events where account_id = $1',
      accountId,
    );
    expect(events.map(({ id }) => id).toSorted()).toEqual(idsOf('image').toSorted());
    return events.filter(({ url }) => receiver.deliveries(url.split('/').at(-1) ?? '').length === 0);
  };
  await expect.poll(unnotified, { timeout: 60_000 }).toEqual([]);

  // The same requests again are the same jobs and payments.
  for (const work of done.filter((_, place) => place % 10 === 0 || done[place]?.kind === 'search'))
    expect(await work.again()).toBe(work.id);
  await expectOnce();
  await expectSoundBooks();
}, 300_000);
