import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { getJob, jobView, listJobs } from '../../src/operator/jobs.ts';
import type { OperatorServices } from '../../src/operator/verb.ts';
import { operatorOf } from '../cli/run-cli.ts';
import { createTestDatabase } from '../cli/test-database.ts';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';
import { openAccount } from '../mcp/open-account.ts';
import { hasService } from '../outside-services.ts';
import { createOperatorClient } from './operator-client.ts';

const engines = ['sqlite', ...(hasService('PostgreSQL') ? ['postgres'] : [])];
const prompt = 'a pier at dusk';
const spoken = 'tell me of the pier';

describe.each(engines)('the jobs that operators see on %s', (engine) => {
  let gateway: TestGateway;
  let database: Awaited<ReturnType<typeof createTestDatabase>> = null;
  let commands: ReturnType<typeof operatorOf>;
  let read: (path: string) => Promise<{ status: number; body: Record<string, unknown> }>;
  let owner: Awaited<ReturnType<typeof openAccount>>;
  /** By what they are. */
  const ids: Record<string, string> = {};
  let resultUrl = '';

  beforeAll(async () => {
    database = engine === 'postgres' ? await createTestDatabase() : null;
    const address: Record<string, string> = database === null ? {} : { DATABASE_URL: database.url };
    gateway = await startTestGateway({ environment: address });
    commands = operatorOf(database === null ? { DATA_DIR: gateway.dataDir } : address);
    ({ get: read } = await createOperatorClient(gateway, 'read'));
    owner = await openAccount(gateway.services);
    const make = async (path: string, apiKey: string, body: object) => {
      const answer = await gateway.call(path, { apiKey, body });
      return (await answer.json()) as { id: string; data: { url: string }[] };
    };
    const image = { model: 'imagemodel-1.0', prompt };
    const made = await make('/v1/images/generations', owner.apiKey, image);
    [ids.image, resultUrl] = [made.id, made.data[0]?.url ?? ''];
    await make('/v1/images/generations', owner.apiKey, { ...image, prompt: `${prompt} [sandbox:fail]` });
    const messages = [{ role: 'user', content: spoken }];
    const chat = { model: 'textmodel-3.5-flash', messages, max_tokens: 20 };
    ids.completion = (await make('/v1/chat/completions', gateway.apiKey, chat)).id;
    ids.chat = ids.completion.replace('chatcmpl-', '');
    const [failed] = await gateway.services.store
      .searchJobs({ status: 'failed', before: null, limit: 1 })
      .then(({ jobs }) => jobs);
    ids.failed = failed?.id ?? '';
  });
  afterAll(async () => {
    await gateway.stop();
    await database?.drop();
  });

  const list = async (query: string) => {
    const { status, body } = await read(`/jobs${query}`);
    expect(status).toBe(200);
    return listJobs.output.parse(body);
  };
  const found = async (query: string): Promise<string[]> => (await list(query)).jobs.map(({ id }) => id);

  test('are those of all accounts, and narrowed by account, state, kind, model and time', async () => {
    expect(await found('')).toEqual([ids.chat, ids.failed, ids.image]);
    expect(await found(`?account_id=${owner.accountId}`)).toEqual([ids.failed, ids.image]);
    expect(await found('?status=failed')).toEqual([ids.failed]);
    expect(await found('?kind=image&status=done')).toEqual([ids.image]);
    expect(await found('?model=textmodel-3.5-flash')).toEqual([ids.chat]);
    expect(await found('?from=2999-01-01')).toEqual([]);
    const [chat] = (await list('?limit=1')).jobs;
    expect(await found(`?to=${chat?.created_at}`)).toEqual([ids.failed, ids.image]);
    expect(await found(`?from=${chat?.created_at}`)).toEqual([ids.chat]);
  });

  test('come page by page, from the command line, too', async () => {
    const first = await list('?limit=2');
    expect(first).toMatchObject({ has_more: true, next_after: ids.failed });
    const last = await list(`?limit=2&after=${first.next_after}`);
    expect(last).toMatchObject({ jobs: [{ id: ids.image }], has_more: false, next_after: null });
    expect(await commands.answer(listJobs.output, 'jobs', 'list', '--limit', '2')).toEqual(first);
    const { stdout, stderr } = await commands.print('jobs', 'list', '--limit', '2');
    expect(stdout).toMatch(/^JOB {35}ACCOUNT {31}CREATED {19}KIND {3}MODEL /);
    expect(stdout).toContain('failed         0.00  upstream_error\n');
    expect(stderr).toContain(`continue with --after ${ids.failed}`);
  });

  test('tell the hold, the charge, the key, the provider and the sizes of the results of one', async () => {
    const { body } = await read(`/jobs/${ids.image}`);
    const { job, payment, results } = getJob.output.parse(body);
    expect(job).toMatchObject({
      account_id: owner.accountId,
      key_id: owner.keyId,
      hold_usd: '0.04',
      charged_usd: '0.04',
      billing_status: 'charged',
      attempts: 1,
      provider: 'sandbox',
      failed_providers: [],
      sandbox: true,
    });
    expect([payment, results]).toMatchObject([null, [{ role: 'image', content_type: 'image/png' }]]);
    expect(results[0]?.size_bytes).toBeGreaterThan(1_000);
    expect(resultUrl).toContain(`/${results[0]?.id}`);
    expect(await commands.answer(getJob.output, 'jobs', 'show', ids.completion ?? '')).toMatchObject({
      job: { id: ids.chat, kind: 'chat' },
      results: [],
    });
  });

  test('say in words why one failed, and that nothing was charged', async () => {
    const { stdout } = await commands.print('jobs', 'show', ids.failed ?? '');
    expect(stdout).toContain('Held 0.04, charged 0.00, refunded 0.00 USD (not_charged)');
    expect(stdout).toContain('upstream_error: The model provider failed to answer this request.');
  });

  test('never have a prompt, an answer or the address of a result', async () => {
    const answers = [
      await list(''),
      ...(await Promise.all(Object.values(ids).map((id) => read(`/jobs/${id}`)))),
    ];
    const { stdout } = await commands.print('jobs', 'show', ids.image ?? '');
    const text = JSON.stringify(answers) + stdout;
    const name = resultUrl.split('/').at(-1)?.split('.')[0] ?? '';
    expect(name).toHaveLength(43);
    for (const hidden of [prompt, spoken, name]) expect(text).not.toContain(hidden);
  });

  test('that are not there are refused', async () => {
    const refusal = { error: { code: 'job_not_found' } };
    for (const path of ['/jobs/nothing', '/jobs?after=nothing'])
      expect(await read(path)).toMatchObject({ status: 404, body: refusal });
    expect(await read('/jobs?account_id=nobody')).toMatchObject({ status: 404 });
    for (const query of ['status=lost', 'kind=song', 'limit=1001', 'from=yesterday'])
      expect(await read(`/jobs?${query}`)).toMatchObject({ status: 422 });
    expect((await gateway.call('/admin/v1/jobs', { apiKey: owner.apiKey })).status).toBe(401);
  });

  test('are named in the table of transactions wherever money moved', async () => {
    const { stdout } = await commands.print('accounts', 'transactions', owner.accountId);
    expect(stdout).toMatch(new RegExp(`debit +-0\\.04 +\\S+ +${ids.image} +imagemodel-1\\.0`));
  });
});

test('the error of a job is shown to people without what steers a terminal', async () => {
  const error = { code: 'upstream_error', message: '\u001b[2JAll\rgood', type: 'server_error', param: null };
  const shown = { job: { ...jobView.example, error }, payment: null, results: [] };
  expect(getJob.command?.show?.(shown, {} as OperatorServices, {})).toContain('upstream_error: [2JAllgood');
});
