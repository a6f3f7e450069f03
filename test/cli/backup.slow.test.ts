import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cliArguments } from '../../scripts/node-arguments.ts';
import { lockProfiles } from '../../src/leads/sqlite/profiles-folder.ts';
import { read, type Body } from '../e2e/account-calls.ts';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';
import { operatorOf, runCli, runHere, temporaryFolder } from './run-cli.ts';

const draw = async (gateway: TestGateway, key: string): Promise<{ job: Body; isReplayed: boolean }> => {
  const response = await gateway.call('/v1/images/generations', {
    body: { model: 'imagemodel-1.0', prompt: `a lighthouse, ${key}` },
    headers: { 'idempotency-key': key },
  });
  const isReplayed = response.headers.get('idempotent-replayed') === 'true';
  return { job: (await response.json()) as Body, isReplayed };
};

const bytesOf = async (gateway: TestGateway, job: Body): Promise<Buffer> => {
  const [{ url }] = job['data'] as [{ url: string }];
  const response = await fetch(gateway.url + new URL(url).pathname);
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
};

test('a backup made under load is restored into a new folder with its results, its profiles and right books', async () => {
  const gateway = await startTestGateway();
  const { apiKey, dataDir } = gateway;
  const { job } = await draw(gateway, 'before');
  const picture = await bytesOf(gateway, job);
  const chat = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 10 };
  let isOver = false;
  const load = Array.from({ length: 4 }, async (_, lane) => {
    for (let count = 0; !isOver; count += 1) {
      await draw(gateway, `load-${lane}-${count}`);
      expect((await gateway.call('/v1/chat/completions', { body: chat })).status).toBe(200);
    }
  });
  const folder = await temporaryFolder();
  await writeFile(
    join(folder, 'people.csv'),
    'username,full_name,followers,following,is_verified,is_business\nann,Ann,1200,3,no,no\nbob,Bob,900,4,no,no\n',
  );
  const settings = { DATA_DIR: dataDir };
  const made = await runCli(['leads', 'import', join(folder, 'people.csv')], { env: settings });
  expect(made.exitCode).toBe(0);
  const backup = join(folder, 'backup');
  const answered = await runCli(['backup', backup, '--json'], { env: settings });
  expect([answered.exitCode, answered.stderr]).toEqual([0, '']);
  expect(JSON.parse(answered.stdout)).toMatchObject({
    folder: backup,
    store_bytes: (await stat(join(backup, 'causeway.db'))).size,
    wallets: true,
  });
  isOver = true;
  await Promise.all(load);
  expect((await stat(backup)).mode & 0o077).toBe(0);
  expect(await readFile(join(backup, 'wallets.json'), 'utf8')).toBe(
    await readFile(join(dataDir, 'wallets.json'), 'utf8'),
  );
  await gateway.stop();

  const restored = join(folder, 'restored');
  await cp(backup, restored, { recursive: true, preserveTimestamps: true });
  const check = await runCli(['--data-dir', restored, 'ledger', 'check', '--json']);
  expect(JSON.parse(check.stdout)).toMatchObject({ ok: true, problems: [] });
  const profiles = await runCli(['--data-dir', restored, 'leads', 'stats', '--json']);
  expect(JSON.parse(profiles.stdout)).toMatchObject({ stats: { profiles: 2 } });

  const next = await startTestGateway({ environment: { DATA_DIR: restored } });
  onTestFinished(() => next.stop());
  next.apiKey = apiKey;
  const call: TestGateway['call'] = (path, options) => next.call(path, { apiKey, ...options });
  const again = { ...next, call };
  expect(await draw(again, 'before')).toMatchObject({ job: { id: job['id'] }, isReplayed: true });
  expect((await bytesOf(again, job)).equals(picture)).toBe(true);
  const charged = ((await read(again, '/v1/usage', apiKey)) as { charged_usd: string }).charged_usd;
  const { balance_usd: balance } = (await read(again, '/v1/balance', apiKey)) as { balance_usd: string };
  const { job: later } = await draw(again, 'after');
  expect(later).toMatchObject({ status: 'done' });
  await bytesOf(again, later);
  // What the snapshot caught half-way is ended uncharged once its lease is over; until then it is held.
  const [account] = await next.services.store.listAccounts({ limit: 1 });
  expect(Number(balance)).toBeLessThanOrEqual(25 - Number(charged));
  expect(account?.balance).toBe(25_000_000_000n - BigInt(Math.round(Number(charged) * 1e9)) - 40_000_000n);
});

test('a backup that cannot be made whole leaves nothing behind', async () => {
  const folder = await temporaryFolder();
  const dataDir = join(folder, 'data');
  const operator = operatorOf({ DATA_DIR: dataDir });
  const backups = join(folder, 'backups');
  await mkdir(backups);
  const backup = join(backups, 'monday');
  expect(await operator.refusal('backup', backup)).toMatchObject({ exitCode: 1, code: 'no_data' });
  expect(
    (await runHere(['accounts', 'create', '--name', 'Acme'], { env: { DATA_DIR: dataDir } })).exitCode,
  ).toBe(0);
  expect(await operator.refusal('backup', join(folder, 'nowhere', 'monday'))).toMatchObject({
    code: 'file_failed',
  });
  expect(await operator.refusal('backup', backups)).toMatchObject({ code: 'file_exists' });
  await mkdir(join(dataDir, 'leads'));
  const lock = lockProfiles(join(dataDir, 'leads'));
  expect(await operator.refusal('backup', backup)).toMatchObject({ exitCode: 1, code: 'leads_busy' });
  lock.close();
  await writeFile(join(dataDir, 'causeway.db'), 'this is no database');
  expect(await operator.refusal('backup', backup)).toMatchObject({ exitCode: 1, code: 'file_failed' });
  expect(await readdir(backups)).toEqual([]);
  const onPostgres = operatorOf({ DATABASE_URL: 'postgres://127.0.0.1:1/nothing' });
  expect(await onPostgres.refusal('backup', backup)).toMatchObject({ exitCode: 2, code: 'invalid_setting' });
});

test('a backup that a signal ends leaves nothing behind', async () => {
  const folder = await temporaryFolder();
  const environment = { DATA_DIR: join(folder, 'data') };
  expect((await runHere(['accounts', 'create', '--name', 'Acme'], { env: environment })).exitCode).toBe(0);
  const backups = join(folder, 'backups');
  await mkdir(backups);
  await mkdir(join(folder, 'data', 'media'));
  // Copying a pipe waits for its writer. It has the name of a folder of media, as other names are left out.
  execFileSync('mkfifo', [join(folder, 'data', 'media', 'ab')]);
  const copying = spawn(process.execPath, [...cliArguments, 'backup', join(backups, 'monday')], {
    env: environment,
    stdio: 'ignore',
  });
  onTestFinished(() => void copying.kill('SIGKILL'));
  const parts = async (): Promise<string> => (await readdir(backups, { recursive: true })).join();
  await expect.poll(parts, { timeout: 60_000 }).toMatch(/\/media\b/);
  copying.kill('SIGTERM');
  expect(await once(copying, 'exit')).toEqual([null, 'SIGTERM']);
  expect(await readdir(backups)).toEqual([]);
});

test('a backup is not made inside a folder that it copies, whatever the name that leads there', async () => {
  const folder = await temporaryFolder();
  const environment = { DATA_DIR: join(folder, 'data'), MEDIA_DIR: join(folder, 'pictures') };
  expect((await runHere(['accounts', 'create', '--name', 'Acme'], { env: environment })).exitCode).toBe(0);
  const leads = join(folder, 'data', 'leads');
  await mkdir(leads);
  await mkdir(join(folder, 'pictures', 'ab'), { recursive: true });
  await symlink(join(folder, 'pictures', 'ab'), join(folder, 'link'));
  const operator = operatorOf(environment);
  for (const outer of [
    leads,
    join(folder, 'pictures'),
    join(folder, 'pictures', 'ab'),
    join(folder, 'link'),
  ]) {
    expect(await operator.refusal('backup', join(outer, 'monday'))).toMatchObject({
      exitCode: 2,
      code: 'invalid_usage',
      message: expect.stringContaining('inside'),
    });
  }
  expect(await readdir(join(folder, 'pictures', 'ab'))).toEqual([]);
  for (const name of ['monday', 'pictures-of-monday', join('data', 'monday')])
    expect((await runHere(['backup', join(folder, name)], { env: environment })).exitCode).toBe(0);
});

test('a backup copies the media from where the settings keep them, and counts them alone', async () => {
  const folder = await temporaryFolder();
  const environment = { DATA_DIR: join(folder, 'data'), MEDIA_DIR: join(folder, 'pictures') };
  const gateway = await startTestGateway({ environment });
  onTestFinished(() => gateway.stop());
  const { job } = await draw(gateway, 'kept');
  const picture = await bytesOf(gateway, job);
  const [{ url }] = job['data'] as [{ url: string }];
  const id = /results\/(\w+)/.exec(url)?.[1] ?? '';
  // As of a medium that is saved after the store was copied. No sweep would find it in the copy.
  await writeFile(join(folder, 'pictures', id.slice(0, 2), `${id.slice(0, -1)}_`), 'an input');
  const backup = join(folder, 'backup');
  const { stdout } = await runCli(['backup', backup, '--json'], { env: environment });
  expect(JSON.parse(stdout)).toMatchObject({ media: { files: 1, bytes: picture.length } });
  // Its time is the first use of the folder, which refunds of lost videos depend on.
  const [mark, copied] = await Promise.all(
    [join(folder, 'pictures'), join(backup, 'media')].map((place) => stat(join(place, 'used-since'))),
  );
  // A time of a file is written with less precision than it is read with.
  expect(copied?.mtimeMs).toBeCloseTo(mark?.mtimeMs ?? 0, -1);
  expect((await readFile(join(backup, 'media', id.slice(0, 2), id))).equals(picture)).toBe(true);
});
