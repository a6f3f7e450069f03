import { randomUUID } from 'node:crypto';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { useChromium } from '../../use-chromium.ts';
import { issueOperator } from './console-client.ts';
import { signInPage, watchPage } from './console-page.ts';

const header = 'username,full_name,followers,following,is_verified,is_business,country\n';
const rowsOf = (count: number): string =>
  Array.from({ length: count }, (_, index) => `person_${index},Person,${index},3,no,no,US\n`).join('');

let gateway: TestGateway;
const visit = useChromium();
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.stop());

const open = async (url = gateway.url) => {
  const { key } = await issueOperator(gateway.services);
  const page = await visit();
  const reports = await watchPage(page);
  await signInPage(page, `${url}/console/operator/profiles`, key);
  return { page, reports };
};

const choose = (page: Page, content: string | Buffer, name = 'people.csv'): Promise<void> =>
  page
    .getByLabel(/^File/)
    .setInputFiles({ name, mimeType: 'application/vnd.ms-excel', buffer: Buffer.from(content) });

const importIt = (page: Page): Promise<void> =>
  page.getByRole('button', { name: 'Import', exact: true }).click();

/** Returns a fact of the last import, or of all profiles. */
const fact = (page: Page, name: string, of: 'import' | 'all'): Promise<string | null> =>
  page
    .locator(of === 'import' ? '[role=status] .facts div' : '#content > .facts div')
    .filter({ has: page.getByText(name, { exact: true }) })
    .getByRole('definition')
    .textContent();

const lastImport = async () =>
  (await gateway.services.store.listAudit({ limit: 1, operation: 'import_leads' }))[0];

describe('the profiles in the console', () => {
  it('are imported from a file, with counts, and with the reason of each row that was left out', async () => {
    const { page, reports } = await open();
    const wrong = 'nobody,,many,3,no,no,US\nann,Ann,5,3,no,no,Atlantis\n';
    await choose(page, header + rowsOf(300) + wrong);
    await importIt(page);
    await page.getByRole('heading', { name: 'Imported' }).waitFor();
    const counts = ['Rows', 'Added', 'Updated', 'Rejected', 'Unknown countries'];
    const found = await Promise.all(counts.map((name) => fact(page, name, 'import')));
    expect(found).toEqual(['301', '301', '0', '1', '1']);
    await page.getByRole('row', { name: /^302 followers is "many"/ }).waitFor();
    await page.getByText('"Atlantis"').waitFor();
    await expect.poll(() => fact(page, 'Profiles', 'all')).toBe('301');
    expect(await lastImport()).toMatchObject({ outcome: 'done' });
    await page.getByText('Columns, missing values and limits').click();
    await page.evaluate(axe.source);
    expect((await page.evaluate<axe.AxeResults>('axe.run()')).violations).toEqual([]);
    expect(reports).toEqual([]);
  });

  it('change nothing where too many rows are wrong, which the page says, until the limit is raised', async () => {
    const { page } = await open();
    await choose(page, `${header}${rowsOf(2)}nobody,,many,3,no,no,US\n`);
    await importIt(page);
    await page
      .getByRole('alert')
      .filter({ hasText: /1 of 3 rows were rejected.*Line 4: followers is "many"/ })
      .waitFor();
    expect(await fact(page, 'Profiles', 'all')).toBe('500');
    await page.getByText('Columns, missing values and limits').click();
    await page.getByLabel(/^Max rejected/).fill('50%');
    await importIt(page);
    await page.getByRole('heading', { name: 'Imported' }).waitFor();
    expect(await fact(page, 'Added', 'import')).toBe('2');
    await expect.poll(() => fact(page, 'Profiles', 'all')).toBe('2');
  });

  it('are replaced only after a question, from compressed lines with columns of other names', async () => {
    const { page } = await open();
    const lines = ['ann', 'bob'].map((handle) => JSON.stringify({ handle, name: 'X', fans: 7 })).join('\n');
    await choose(page, gzipSync(lines), 'people.jsonl.gz');
    await page.getByLabel('Profiles that the file does not name').selectOption('are dropped');
    await page.getByText('Columns, missing values and limits').click();
    await page
      .getByLabel(/^Columns with other names/)
      .fill('username=handle\nfull_name=name\nfollowers=fans');
    await page.getByLabel(/^Values for missing/).fill('following=0\nis_verified=no\nis_business=no');
    await importIt(page);
    const dialog = page.getByRole('dialog');
    expect(await dialog.textContent()).toContain(
      'Profiles that people.jsonl.gz does not name are dropped for good.',
    );
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await lastImport()).toBeUndefined();
    await importIt(page);
    await dialog.getByRole('button', { name: 'Replace all profiles' }).click();
    await page.getByRole('heading', { name: 'Imported' }).waitFor();
    await expect.poll(() => fact(page, 'Profiles', 'all')).toBe('2');
  });

  it('stay as they are where the upload breaks off or is stopped, which the page says', async () => {
    const line = await openSlowLine(gateway.url);
    onTestFinished(() => line.close());
    const { page } = await open(line.url);
    // More than what the sockets on the way take.
    await choose(
      page,
      header + `person_${randomUUID().slice(0, 8)},${'x'.repeat(60)},1,3,no,no,US\n`.repeat(150_000),
    );
    const begin = async (): Promise<void> => {
      line.holds = true;
      await importIt(page);
      const sent = `document.querySelector('progress')?.value ?? 0`;
      await expect.poll(() => page.evaluate<number>(sent)).toBeGreaterThan(0);
      await expect.poll(lastImport).toMatchObject({ outcome: null });
    };
    const expectUnchanged = async (words: string): Promise<void> => {
      await page.getByRole('alert').filter({ hasText: words }).waitFor();
      line.flow();
      await expect.poll(lastImport).toMatchObject({ outcome: 'failed', error: 'input_failed' });
      expect(await fact(page, 'Profiles', 'all')).toBe('500');
    };
    await begin();
    line.isDown = true;
    line.cut();
    await expectUnchanged('The upload broke off. Nothing was changed.');
    line.isDown = false;
    await begin();
    await page.getByRole('button', { name: 'Stop' }).click();
    await expectUnchanged('You stopped the upload. Nothing was changed.');
  });

  it('cannot be imported by one who may only read', async () => {
    const { key } = await issueOperator(gateway.services, 'read');
    const page = await visit();
    await signInPage(page, `${gateway.url}/console/operator/profiles`, key);
    await expect.poll(() => fact(page, 'Profiles', 'all')).toBe('500');
    expect(await page.getByRole('button', { name: 'Import' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: /Forget/ }).count()).toBe(0);
  });
});

/** A line to the gateway that passes on only the beginning of what a browser sends, while it holds, and that can be cut. */
const openSlowLine = async (url: string) => {
  const sockets = new Set<Socket>();
  const line = {
    url: '',
    holds: false,
    /** A browser tries a broken connection once more by itself. */
    isDown: false,
    flow: (): void => {
      line.holds = false;
      for (const socket of sockets) socket.resume();
    },
    cut: (): void => sockets.forEach((socket) => socket.destroy()),
    close: async (): Promise<void> => {
      line.cut();
      await new Promise((done) => server.close(done));
    },
  };
  const server = createServer((socket) => {
    if (line.isDown) return socket.destroy();
    const target = connect(Number(new URL(url).port), '127.0.0.1');
    for (const one of [socket, target]) {
      sockets.add(one);
      one.once('close', () => [socket, target].forEach((end) => end.destroy()));
      one.on('error', () => undefined);
    }
    target.pipe(socket);
    let passed = 0;
    socket.on('data', (bytes) => {
      passed += bytes.length;
      target.write(bytes);
      if (line.holds && passed > 1_000_000) socket.pause();
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  line.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return line;
};
