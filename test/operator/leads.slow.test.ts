import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { stringify } from 'yaml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockProfiles, tryLock } from '../../src/leads/sqlite/profiles-folder.ts';
import { operatorOf } from '../cli/run-cli.ts';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';
import { startStubService } from '../leads/upstream/stub-service.ts';
import { createOperatorClient, type OperatorAnswer } from './operator-client.ts';

const header = 'username,full_name,followers,following,is_verified,is_business\n';
const rowsOf = (count: number, from = 0): string =>
  Array.from({ length: count }, (_, index) => `person_${from + index},Person,${from + index},3,no,no\n`).join(
    '',
  );

let gateway: TestGateway;
let client: Awaited<ReturnType<typeof createOperatorClient>>;
beforeEach(async () => {
  gateway = await startTestGateway();
  client = await createOperatorClient(gateway);
});
afterEach(() => gateway.stop());

const send = (body: NonNullable<RequestInit['body']>, query = ''): Promise<OperatorAnswer> =>
  client.send(`/leads/import${query}`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'text/csv' },
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
  });

const stats = async () => (await client.get('/leads/stats')).body['stats'];

const search = (query: string) =>
  gateway.services.leads.search({ query, limit: 5 }, { signal: AbortSignal.timeout(20_000) });

/** Waits until a search finds so many. */
const whenFound = (query: string, count: number): Promise<void> =>
  expect.poll(async () => (await search(query)).length, { timeout: 60_000 }).toBe(count);

const codeOf = ({ status, body }: OperatorAnswer): unknown[] => [
  status,
  (body['error'] as { code: string } | undefined)?.code,
];

describe('profiles over HTTP', () => {
  it('are imported by the thousand while searches are answered, and found all at once', async () => {
    let isOver = false;
    const seen = new Set<number>();
    const searching = (async () => {
      while (!isOver) {
        seen.add((await search('person')).length);
        await setImmediate();
      }
    })();
    const chunks = [header, ...Array.from({ length: 40 }, (_, index) => rowsOf(100, 100 * index))];
    const body = new ReadableStream({
      pull: async (controller) => {
        const chunk = chunks.shift();
        if (chunk === undefined) return controller.close();
        // Searches go on while the body comes.
        await search('person');
        controller.enqueue(new TextEncoder().encode(chunk));
      },
    });
    const imported = await send(body, '?format=csv');
    expect(imported).toMatchObject({
      status: 200,
      body: {
        import: {
          place: 'embedded',
          mode: 'upsert',
          rows: 4_000,
          added: 4_000,
          rejected: 0,
          profiles: 4_000,
        },
      },
    });
    await whenFound('person', 5);
    isOver = true;
    await searching;
    expect([...seen].filter((found) => found !== 0 && found !== 5)).toEqual([]);
    expect(await stats()).toMatchObject({
      profiles: 4_000,
      synthetic: false,
      forgotten: 0,
    });
    const [row] = await gateway.services.store.listAudit({ limit: 1 });
    expect(row).toMatchObject({ operation: 'import_leads', outcome: 'done', input: { format: 'csv' } });
  });

  it('are read from a body of a type that is named, or of none', async () => {
    const sendAs = (type: string | null) =>
      client.send('/leads/import', {
        method: 'POST',
        // A text would get a type of its own.
        body: new TextEncoder().encode(header + rowsOf(1)),
        headers: type === null ? {} : { 'content-type': type },
      });
    for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/csv2'])
      expect([type, ...codeOf(await sendAs(type))]).toEqual([type, 415, 'unsupported_media_type']);
    expect(await gateway.services.store.listAudit({ limit: 1 })).toMatchObject([
      { operation: 'import_leads', input: {}, outcome: 'failed', error: 'unsupported_media_type' },
    ]);
    for (const type of ['Text/CSV; charset=utf-8', 'application/x-ndjson', 'application/octet-stream', null])
      expect([type, (await sendAs(type)).status]).toEqual([type, 200]);
  });

  it('may be JSON Lines or compressed, by other columns, with values for missing ones', async () => {
    const lines = ['ann', 'bob'].map((handle) => JSON.stringify({ handle, name: 'X', fans: 7 })).join('\n');
    const query = '?column=followers=fans&column=full_name=name&default=following=0&default=is_verified=no';
    const imported = await send(gzipSync(lines), `${query}&default=is_business=no&replace=true`);
    expect(imported.body).toMatchObject({ import: { mode: 'replace', added: 2, rejected: 0 } });
    await whenFound('ann', 1);
  });

  it('change nothing where the body breaks off, is none, or has too many wrong rows', async () => {
    await send(header + rowsOf(10));
    const before = await stats();
    const lastImport = async () => (await gateway.services.store.listAudit({ limit: 1 }))[0];
    const broken = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(header + rowsOf(500, 1_000))),
      pull: async (controller) => {
        await expect.poll(lastImport).toMatchObject({ outcome: null });
        controller.error(new Error('the line is down'));
      },
    });
    await expect(send(broken)).rejects.toThrow(/line is down|fetch failed/);
    await expect.poll(lastImport).toMatchObject({ outcome: 'failed', error: 'input_failed' });
    const wrong = `${header}${rowsOf(2, 50)}nobody,,many,3,no,no\n`;
    expect(codeOf(await send(wrong, '?max_rejected=10%25'))).toEqual([422, 'too_many_rejected']);
    expect(await send(wrong)).toMatchObject({
      status: 422,
      body: {
        error: {
          code: 'too_many_rejected',
          message: expect.stringMatching(
            /^1 of 3 rows were rejected; the limit is 1%\. .*: max-rejected 34%\. Line 4: followers is "many"/,
          ),
        },
      },
    });
    expect(codeOf(await send(`${header}nobody,,many,3,no,no\n`))).toEqual([422, 'nothing_imported']);
    expect(codeOf(await send(''))).toEqual([400, 'input_failed']);
    const empty = 'The input is empty; it does not even have a header line.';
    expect(await send('\n', '?format=csv')).toMatchObject({ body: { error: { message: empty } } });
    const missing = await send('a,b\n1,2\n');
    expect(missing).toMatchObject({
      body: { error: { message: expect.stringMatching(/^The input has no column for .*: column \w+=NAME/) } },
    });
    expect(codeOf(await send('PK\u0003\u0004 an archive'))).toEqual([400, 'input_failed']);
    expect(codeOf(await send(wrong, '?column=fans=followers'))).toEqual([422, 'invalid_parameter']);
    expect(await stats()).toEqual(before);
    const counted = await send(wrong, '?max_rejected=1');
    expect(counted.body).toMatchObject({
      import: {
        rows: 2,
        rejected: 1,
        first_rejected: [{ line: 4, problem: expect.stringContaining('followers') }],
      },
    });
  });

  it('are refused during another import, while people can be forgotten', async () => {
    await send(header + rowsOf(10));
    const lock = lockProfiles(`${gateway.dataDir}/leads`);
    try {
      expect(codeOf(await send(header + rowsOf(20_000)))).toEqual([409, 'leads_busy']);
      const forgotten = await client.post('/leads/forget', { usernames: ['person_1'] });
      expect(forgotten).toEqual({ status: 200, body: { forgotten: 1, removed: 1 } });
    } finally {
      lock.close();
    }
    await whenFound('person_1', 0);
    expect(await stats()).toMatchObject({ forgotten: 1 });
  });
});

describe('a gateway that stops', () => {
  it('waits for the threads that change profiles, which it ends', async () => {
    const other = await startTestGateway();
    const { services } = other;
    const isLocked = (): boolean => {
      using lock = tryLock(`${other.dataDir}/leads`, 0);
      return lock === null;
    };
    const endless = new PassThrough();
    endless.write(header + rowsOf(10));
    const importing = services.leadTasks.importStream({ mode: 'upsert', format: 'csv' }, endless);
    const refusal = importing.catch((error: unknown) => error);
    await expect.poll(isLocked, { timeout: 20_000 }).toBe(true);
    const { close } = services;
    services.close = async () => {
      await close();
      expect(isLocked()).toBe(false);
    };
    await other.stop();
    expect(await refusal).toMatchObject({ code: 'shutting_down' });
    await expect(services.leadTasks.sweep()).rejects.toMatchObject({ code: 'shutting_down' });
    endless.destroy();
  });
});

describe('people who ask to be forgotten', () => {
  it('are found no more, come with no import until they are restored, and stand in no log', async () => {
    await send(header + rowsOf(10));
    await whenFound('person_7', 1);
    const forgotten = await client.post('/leads/forget', {
      usernames: ['@Person_7', 'person_7', 'unheard.of'],
    });
    expect(forgotten).toEqual({ status: 200, body: { forgotten: 2, removed: 1 } });
    await whenFound('person_7', 0);
    expect((await send(header + rowsOf(10))).body).toMatchObject({ import: { forgotten: 1 } });
    const operator = operatorOf({ DATA_DIR: gateway.dataDir });
    const byHand = await operator.print('leads', 'delete', 'person_8', '--json');
    expect(JSON.parse(byHand.stdout)).toEqual({ forgotten: 1, removed: 1 });
    const restored = await client.post('/leads/restore', { usernames: ['person_7', 'person_9'] });
    expect(restored.body).toEqual({ restored: 1, not_forgotten: 1 });
    const log = await gateway.services.store.listAudit({ limit: 20 });
    expect(log.map(({ operation, actor }) => [operation, actor.split(':')[0]])).toEqual([
      ['restore_people', 'key'],
      ['forget_people', 'cli'],
      ['import_leads', 'key'],
      ['forget_people', 'key'],
      ['import_leads', 'key'],
    ]);
    expect(JSON.stringify(log)).not.toMatch(/person_|unheard/i);
    expect(log.map(({ input }) => input).filter((input) => 'people' in input)).toEqual([
      { people: 2 },
      { people: 1 },
      { people: 2 },
    ]);
    expect(codeOf(await client.post('/leads/forget', { usernames: ['no name'] }))).toEqual([
      422,
      'invalid_parameter',
    ]);
  });

  it('are deleted by the service of leads.http, too, and are forgotten here while it fails', async () => {
    const service = await startStubService({ kind: 'json', value: {} });
    const forget = { url: `${service.origin}/profiles/{username_key}` };
    const other = await startTestGateway({
      environment: { LEADS_SOURCES: 'http' },
      yaml: stringify({ leads: { http: { url: service.origin, parameters: { q: '{query}' }, forget } } }),
    });
    const operator = await createOperatorClient(other);
    const forgetAnn = () => operator.post('/leads/forget', { usernames: ['Ann'] });
    service.answer({ kind: 'json', status: 500, value: {} });
    expect(codeOf(await forgetAnn())).toEqual([500, 'leads_failed']);
    expect((await operator.get('/leads/stats')).body).toMatchObject({ stats: { forgotten: 1 } });
    service.answer({ kind: 'json', value: {} });
    expect(await forgetAnn()).toEqual({ status: 200, body: { forgotten: 1, removed: 0 } });
    const asked = service.requests.map(({ method, url }) => `${method} ${url.pathname}`);
    expect(asked).toEqual(['DELETE /profiles/ann', 'DELETE /profiles/ann']);
    await other.stop();
    await service.close();
  });
});
