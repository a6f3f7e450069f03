import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { issueOperatorKey } from '../../src/operator/operators.ts';
import { documents, operatorOf } from '../cli/run-cli.ts';
import { createTestDatabase } from '../cli/test-database.ts';
import { hasService } from '../outside-services.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const issuedKey = z.strictObject({
  key: z.string().regex(/^op_causeway_[0-9A-Za-z]{43}$/),
  operator_key: z.looseObject({ id: z.uuid(), role: z.string(), expires_at: z.string().nullable() }),
});

type Body = Record<string, unknown>;

const engines = ['sqlite', ...(hasService('PostgreSQL') ? ['postgres'] : [])];

describe.each(engines)("the operator's API on %s", (engine) => {
  let gateway: TestGateway;
  let database: Awaited<ReturnType<typeof createTestDatabase>> = null;
  let operator: ReturnType<typeof operatorOf>;
  let writer = { id: '', key: '' };
  let reader = { id: '', key: '' };

  const issue = async (...words: string[]): Promise<{ id: string; key: string }> => {
    const issued = await operator.answer(issuedKey, 'operator-keys', 'issue', ...words);
    return { id: issued.operator_key.id, key: issued.key };
  };

  beforeAll(async () => {
    database = engine === 'postgres' ? await createTestDatabase() : null;
    const address: Record<string, string> = database === null ? {} : { DATABASE_URL: database.url };
    gateway = await startTestGateway({ environment: { ...address, TRUSTED_PROXY_HOPS: '1' } });
    operator = operatorOf(database === null ? { DATA_DIR: gateway.dataDir } : address);
    writer = await issue('--label', 'billing', '--role', 'write');
    reader = await issue('--label', 'console', '--role', 'read', '--expires', '2999-01-31');
  });
  afterAll(async () => {
    await gateway.stop();
    await database?.drop();
  });

  /** Calls with the key that may write, unless told otherwise. */
  const call = async (path: string, body?: Body, apiKey: string | null = writer.key) => {
    const answer = await gateway.call(`/admin/v1${path}`, { body, apiKey });
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Body };
  };
  const refusal = async (...given: Parameters<typeof call>): Promise<[number, string]> => {
    const { status, body } = await call(...given);
    return [status, (body as { error: { code: string } }).error.code];
  };
  const openAccount = async (): Promise<string> => {
    const { body } = await call('/accounts', { name: 'Acme', approved: true });
    return documents.account.parse(body).account.id;
  };

  test('an account is created, approved, suspended and read, as the command line shows it', async () => {
    const created = documents.account.parse((await call('/accounts', { name: ' Acme ' })).body).account;
    expect(created).toMatchObject({ name: 'Acme', status: 'pending', sandbox: false, balance_usd: '0.00' });
    const path = `/accounts/${created.id}`;
    const approve = () => gateway.call(`/admin/v1${path}/approve`, { method: 'POST', apiKey: writer.key });
    expect(await (await approve()).json()).toEqual({
      account: { ...created, status: 'active' },
      changed: true,
    });
    expect(await (await approve()).json()).toMatchObject({ changed: false });
    expect((await call(`${path}/suspend`, {})).body).toMatchObject({
      account: { status: 'suspended' },
      changed: true,
    });
    expect((await call(`${path}/keys`, {})).body).toMatchObject({
      error: { code: 'account_not_active', message: 'The account is suspended. Approve it first.' },
    });
    const { body } = await call(path);
    expect(body).toMatchObject({
      account: { ...created, status: 'suspended' },
      auto_top_up: { state: 'off', card: null },
    });
    expect(await operator.answer(documents.shownAccount, 'accounts', 'show', created.id)).toEqual(body);
    expect(await refusal('/accounts/nobody')).toEqual([404, 'account_not_found']);
    expect(await refusal('/accounts/nobody/approve', {})).toEqual([404, 'account_not_found']);
  });

  test('accounts are listed page by page', async () => {
    const last = await openAccount();
    const ids: string[] = [];
    for (let after = ''; ; after = `&after=${ids.at(-1)}`) {
      const page = documents.accounts.parse((await call(`/accounts?limit=1${after}`)).body);
      ids.push(...page.accounts.map(({ id }) => id));
      if (!page.has_more) break;
    }
    expect(ids.at(-1)).toBe(last);
    expect(await operator.answer(documents.accounts, 'accounts', 'list')).toEqual(
      (await call('/accounts')).body,
    );
    expect(await refusal('/accounts?after=nobody')).toEqual([404, 'account_not_found']);
    expect(await refusal('/accounts?limit=0')).toEqual([422, 'invalid_parameter']);
    expect(await refusal('/accounts?limitt=5')).toEqual([422, 'invalid_parameter']);
  });

  test('money is posted once under one entry id, however often and at once it is sent', async () => {
    const path = `/accounts/${await openAccount()}`;
    const top = { amount_usd: '5', reason: 'Invoice 7', entry_id: randomUUID() };
    const sent = await Promise.all(Array.from({ length: 5 }, () => call(`${path}/credit`, top)));
    const [first] = sent.map(({ body }) => documents.posted.parse(body));
    for (const { status, body } of sent) expect([status, body]).toEqual([200, first]);
    expect(first).toMatchObject({
      entry: { id: top.entry_id, type: 'topup', amount_usd: '5.00', reason: 'Invoice 7' },
      balance_usd: '5.00',
    });
    expect(await refusal(`${path}/credit`, { ...top, amount_usd: '6' })).toEqual([
      409,
      'idempotency_conflict',
    ]);
    const { entry_id: _id, ...withoutId } = top;
    expect(await refusal(`${path}/credit`, withoutId)).toEqual([422, 'invalid_parameter']);
    expect(await refusal(`${path}/adjust`, { ...top, amount_usd: '-5.01', entry_id: randomUUID() })).toEqual([
      402,
      'insufficient_balance',
    ]);
    expect(
      (await call(`${path}/adjust`, { ...top, amount_usd: '-4.999999999', entry_id: randomUUID() })).body,
    ).toMatchObject({
      entry: { type: 'adjustment' },
      balance_usd: '0.000000001',
    });
    for (const amount of ['0', '-1', '1e3', '10000000.01', '0.0000000001', 5, null])
      expect(await refusal(`${path}/credit`, { ...top, amount_usd: amount })).toEqual([
        422,
        'invalid_parameter',
      ]);
    expect(await refusal(`${path}/credit?amount_usd=5`, { reason: 'x' })).toEqual([422, 'invalid_parameter']);
    const { body } = await call(`${path}/transactions?limit=1`);
    const [newest] = (body as { transactions: { id: string }[] }).transactions;
    expect(body).toMatchObject({ transactions: [{ type: 'adjustment', model: null }], has_more: true });
    expect((await call(`${path}/transactions?after=${newest?.id}`)).body).toEqual({
      transactions: [{ ...first?.entry, model: null }],
      has_more: false,
    });
    expect(await refusal(`${path}/transactions?after=${randomUUID()}`)).toEqual([404, 'entry_not_found']);
  });

  test('a field in a second place is refused, and changes nothing', async () => {
    const [accountId, other] = [await openAccount(), await openAccount()];
    const path = `/accounts/${accountId}`;
    const top = { amount_usd: '1', reason: 'Invoice 8' };
    const refusedParam = async (...given: Parameters<typeof call>) => {
      const { status, body } = await call(...given);
      return [status, (body as { error: { param?: string } }).error.param];
    };
    expect(await refusedParam(`${path}/credit?amount_usd=5&reason=x`, {})).toEqual([422, 'amount_usd']);
    expect(await refusedParam(`${path}/credit?amount_usd=100`, top)).toEqual([422, 'amount_usd']);
    expect(await refusedParam(`${path}/credit`, { ...top, account_id: other })).toEqual([422, 'account_id']);
    expect(await refusedParam(`${path}/credit`, { ...top, account_id: accountId })).toEqual([
      422,
      'account_id',
    ]);
    expect(await refusedParam(`${path}/approve?account_id=${other}`, {})).toEqual([422, 'account_id']);
    expect(await refusedParam(`${path}?account_id=${other}`)).toEqual([422, 'account_id']);
    for (const id of [accountId, other])
      expect((await call(`/accounts/${id}`)).body).toMatchObject({ account: { balance_usd: '0.00' } });
  });

  test('an id with control characters is refused, also where customers name a key', async () => {
    for (const id of ['%00', 'a%00b', '%1b']) {
      const wrong = [422, 'invalid_parameter'];
      expect(await refusal(`/keys/${id}`, { alert_url: null })).toEqual(wrong);
      expect(await refusal(`/keys/${id}/revoke`, {})).toEqual(wrong);
      expect(await refusal(`/accounts/${id}`)).toEqual(wrong);
      for (const method of ['GET', 'POST', 'DELETE']) {
        const body = method === 'POST' ? { label: 'x' } : undefined;
        const answer = await gateway.call(`/v1/keys/${id}`, { method, body });
        expect([method, answer.status]).toEqual([method, 422]);
      }
    }
  });

  test('the charge of a job is refunded, and usage and ledger show it', async () => {
    const made = await gateway.call('/v1/images/generations', {
      body: { model: 'imagemodel-1.0', prompt: 'a lighthouse' },
    });
    const { id: jobId } = (await made.json()) as { id: string };
    const refund = { amount_usd: '0.01', reason: 'unusable', entry_id: randomUUID() };
    const refunded = documents.refunded.parse((await call(`/jobs/${jobId}/refund`, refund)).body);
    expect(refunded).toMatchObject({ entry: { job_id: jobId, type: 'refund' }, refunded_usd: '0.01' });
    expect(
      await refusal(`/jobs/${jobId}/refund`, { ...refund, amount_usd: '1', entry_id: randomUUID() }),
    ).toEqual([409, 'refund_too_large']);
    expect(await refusal('/jobs/none/refund', refund)).toEqual([404, 'job_not_found']);
    const account = `/accounts/${refunded.entry.account_id}`;
    const { body: usage } = await call(`${account}/usage`);
    expect(usage).toMatchObject({ jobs: { total: 1 }, refunded_usd: '0.01', by_kind: [{ kind: 'image' }] });
    const customers = (await (await gateway.call('/v1/usage')).json()) as Body;
    expect(usage).toEqual({ ...customers, from: usage['from'], to: usage['to'] });
    const shown = await operator.print('accounts', 'usage', refunded.entry.account_id);
    expect(shown.stdout).toMatch(/imagemodel-1\.0 +1 .*\nall +1 /);
    const { body: report } = await call('/ledger/check');
    expect(documents.ledger.parse(report)).toMatchObject({ ok: true, problems: [] });
  });

  test('terms are set, read and removed, and wrong ones name their part', async () => {
    const id = await openAccount();
    const path = `/accounts/${id}/terms`;
    const terms = {
      models: ['imagemodel-1.0'],
      prices: { 'imagemodel-1.0': { unit: 'call', price_usd: '0.030' } },
    };
    const { body } = await call(path, { terms });
    expect(body).toEqual({
      account_id: id,
      terms: { ...terms, prices: { 'imagemodel-1.0': { unit: 'call', price_usd: '0.03' } } },
    });
    expect((await call(path)).body).toEqual(body);
    for (const [wrong, message] of [
      [{ models: ['nothing'] }, /^terms\.models: there is no SKU "nothing"/],
      [{ prices: { 'imagemodel-1.0': { unit: 'call' } } }, /^terms\.prices\.imagemodel-1\.0\.price_usd: /],
      [{ price: {} }, /^terms\.price: is not a field here/],
    ] as const)
      expect(await call(path, { terms: wrong })).toMatchObject({
        status: 422,
        body: { error: { message: expect.stringMatching(message) } },
      });
    expect(await refusal(path, {})).toEqual([422, 'invalid_parameter']);
    expect((await call(path, { terms: null })).body).toEqual({ account_id: id, terms: null });
  });

  test('webhooks are listed, and a signing secret is rotated without being shown', async () => {
    const id = await openAccount();
    expect((await call(`/webhooks?account_id=${id}&state=pending`)).body).toEqual({
      webhooks: [],
      has_more: false,
    });
    expect(await refusal('/webhooks/none')).toEqual([404, 'webhook_not_found']);
    expect(await refusal('/webhooks/none/redeliver', {})).toEqual([404, 'webhook_not_found']);
    const rotate = () => call(`/accounts/${id}/rotate-webhook-secret`, {});
    expect((await rotate()).body).toEqual({ account_id: id, previous_signs_until: null });
    expect((await rotate()).body).toEqual({ account_id: id, previous_signs_until: expect.any(String) });
  });

  test('each change is in the audit log, with who made it, over HTTP and on the command line', async () => {
    const { headers, body } = await call('/accounts', { name: 'Logged', sandbox: true });
    const { id } = documents.account.parse(body).account;
    await operator.refusal('adjust', id, '-1', '--reason', 'too much');
    type Change = Body & { id: string; at: string };
    const { body: log } = await call('/audit?limit=2');
    const [adjusted, created] = (log as { changes: [Change, Change] }).changes;
    expect(created).toEqual({
      id,
      at: expect.any(String),
      actor: `key:${writer.id}`,
      actor_label: 'billing',
      operation: 'create_account',
      input: { name: 'Logged', sandbox: true },
      outcome: 'done',
      error: null,
      request_id: headers.get('x-request-id'),
      finished_at: expect.any(String),
    });
    expect(adjusted).toMatchObject({
      actor: expect.stringMatching(/^cli:.+/),
      actor_label: null,
      operation: 'adjust_account',
      input: { account_id: id, amount_usd: '-1', reason: 'too much', entry_id: expect.any(String) },
      outcome: 'failed',
      error: 'insufficient_balance',
      request_id: null,
    });
    const ofKey = ['audit', 'list', '--actor', `key:${writer.id}`, '--limit', '1'];
    expect(await operator.answer(z.unknown(), ...ofKey, '--operation', 'create_account')).toEqual({
      changes: [created],
      has_more: true,
    });
    expect((await call(`/audit?since=${adjusted.at}&operation=adjust_account`)).body).toEqual({
      changes: [adjusted],
      has_more: false,
    });
    expect(await refusal(`/audit?after=${randomUUID()}`)).toEqual([404, 'audit_not_found']);
  });

  test('a key with the role read reads everything and changes nothing', async () => {
    expect((await call('/accounts', undefined, reader.key)).status).toBe(200);
    const before = (await call('/accounts?limit=1000')).body;
    expect(await refusal('/accounts', { name: 'x' }, reader.key)).toEqual([403, 'role_not_allowed']);
    expect((await call('/accounts?limit=1000')).body).toEqual(before);
  });

  const refused = async (query: string): Promise<Body[]> => {
    const { body } = await call(`/audit?limit=1000${query}`);
    return (body as { changes: Body[] }).changes.filter(({ outcome }) => outcome === 'failed');
  };

  test('refused calls are in the audit log with who made them, and without what they sent', async () => {
    const author = await issue('--label', 'author', '--role', 'write');
    const secret = `op_causeway_${'z9'.repeat(20)}abc`;
    const since = `&since=${new Date().toISOString()}`;
    const guess = await gateway.call('/admin/v1/accounts', {
      apiKey: secret,
      headers: { 'x-forwarded-for': '192.0.2.41' },
    });
    const role = await call('/accounts', { name: secret }, reader.key);
    const slip = await call('/accounts', { nmae: secret }, author.key);
    const broken = await gateway.call('/admin/v1/accounts', { body: '{"name":', apiKey: author.key });
    expect([guess, role, slip, broken].map(({ status }) => status)).toEqual([401, 403, 422, 400]);
    // Reading with a wrong parameter changes nothing and is not noted.
    expect(await refusal('/accounts?limit=0')).toEqual([422, 'invalid_parameter']);
    const of = (key: { id: string }, label: string) => ({ actor: `key:${key.id}`, actor_label: label });
    const create = { operation: 'create_account', input: {} };
    expect(await refused(since)).toMatchObject([
      { ...of(author, 'author'), ...create, error: 'invalid_json' },
      { ...of(author, 'author'), ...create, error: 'invalid_parameter' },
      {
        ...of(reader, 'console'),
        ...create,
        error: 'role_not_allowed',
        request_id: role.headers.get('x-request-id'),
      },
      {
        actor: 'address:192.0.2.41',
        actor_label: null,
        operation: 'authenticate',
        input: {},
        error: 'invalid_api_key',
        request_id: guess.headers.get('x-request-id'),
      },
    ]);
    expect(JSON.stringify((await call('/audit?limit=1000')).body)).not.toContain('z9z9');
  });

  test('a key that may only read is refused an import before its body and type are looked at', async () => {
    const sent = await gateway.call('/admin/v1/leads/import', {
      body: 'x',
      apiKey: reader.key,
      headers: { 'content-type': 'application/pdf' },
    });
    expect([sent.status, await sent.json()]).toMatchObject([403, { error: { code: 'role_not_allowed' } }]);
    const [row] = await refused('&operation=import_leads');
    expect(row).toMatchObject({ actor: `key:${reader.id}`, error: 'role_not_allowed' });
  });

  test('strangers cannot fill the audit log: beyond a limit their refusals are counted', async () => {
    const guessFrom = async (address: string) => {
      const headers = { 'x-forwarded-for': address };
      await gateway.call('/admin/v1/accounts', { apiKey: 'op_guess', headers });
    };
    const since = `&operation=authenticate&since=${new Date().toISOString()}`;
    for (let count = 0; count < 30; count += 1) await guessFrom('192.0.2.42');
    const ofOne = await refused(`&actor=address:192.0.2.42${since}`);
    expect(ofOne.filter(({ input }) => !Object.hasOwn(input as object, 'left_out'))).toHaveLength(20);
    for (let host = 0; host < 100; host += 1) await guessFrom(`198.51.100.${host}`);
    expect((await refused(since)).length).toBeLessThanOrEqual(60 + 3);
    expect(await refused(since)).toEqual(
      expect.arrayContaining([expect.objectContaining({ input: { left_out: 10 } })]),
    );
    const { id, key } = await issue('--label', 'late', '--role', 'write');
    expect(await refusal('/accounts', { nmae: 'x' }, key)).toEqual([422, 'invalid_parameter']);
    expect(await refused(`&actor=key:${id}`)).toMatchObject([{ operation: 'create_account' }]);
  });

  test('keys of the other kind, expired and revoked keys get 401 everywhere', async () => {
    const ended = await issue('--label', 'old', '--role', 'write', '--expires', '2999-01-01');
    const { store, clock } = gateway.services;
    const expired = await issueOperatorKey(
      { store, clock, brand: 'causeway', config: () => Promise.resolve(gateway.services.config) },
      { id: randomUUID(), label: 'older', role: 'write', expiresAt: clock.now() - 1 },
    );
    expect((await call('/accounts', undefined, ended.key)).status).toBe(200);
    const { stdout } = await operator.print('operator-keys', 'revoke', ended.key, '--json');
    expect(stdout).toMatch(/"revoked_at": "20/);
    for (const key of [null, 'nonsense', gateway.apiKey, ended.key, expired.key])
      for (const path of ['/accounts', '/openapi.json', '/nowhere'])
        expect(await refusal(path, undefined, key)).toEqual([401, 'invalid_api_key']);
    expect(await refusal('', undefined, null)).toEqual([401, 'invalid_api_key']);
    const past = ['--label', 'x', '--role', 'read', '--expires', '2020-01-01'];
    expect(await operator.refusal('operator-keys', 'issue', ...past)).toMatchObject({
      code: 'invalid_usage',
    });
    for (const path of ['/v1/balance', '/v1/models', '/mcp'])
      expect(
        (await gateway.call(path, { apiKey: writer.key, body: path === '/mcp' ? {} : undefined })).status,
      ).toBe(401);
    const log = JSON.stringify((await call('/audit?limit=1000')).body);
    expect(log).toContain('"op_*"');
    for (const { key } of [writer, reader, ended]) expect(log).not.toContain(key.slice(12, -4));
    const { stdout: listed } = await operator.print('operator-keys', 'list', '--json');
    expect(listed).not.toContain(writer.key);
  });

  test('many calls without a key are limited by the address, and those with a key are not', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.7' };
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 22; attempt += 1)
      statuses.push((await gateway.call('/admin/v1/accounts', { apiKey: 'op_guess', headers })).status);
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 401), 429, 429]);
    const other = { 'x-forwarded-for': '203.0.113.8' };
    expect((await gateway.call('/admin/v1/accounts', { apiKey: null, headers: other })).status).toBe(401);
    expect((await gateway.call('/admin/v1/accounts', { apiKey: writer.key, headers })).status).toBe(200);
  });

  test('the API describes itself to operators, and answers 404 and 405 as the other addresses do', async () => {
    const { body } = await call('/openapi.json', undefined, reader.key);
    expect(body).toMatchObject({ openapi: '3.1.0', paths: { '/admin/v1/accounts': { get: {}, post: {} } } });
    for (const path of ['', '/', '/nowhere']) expect(await refusal(path)).toEqual([404, 'not_found']);
    for (const [path, allow] of [
      ['accounts', 'GET, HEAD, POST'],
      ['openapi.json', 'GET, HEAD'],
    ] as const) {
      const wrong = await gateway.call(`/admin/v1/${path}`, { method: 'DELETE', apiKey: writer.key });
      expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, allow]);
      const head = await gateway.call(`/admin/v1/${path}`, { method: 'HEAD', apiKey: writer.key });
      expect([head.status, head.headers.get('cache-control')]).toEqual([200, 'no-store']);
    }
    const broken = await gateway.call('/admin/v1/accounts', { body: '{"name":', apiKey: writer.key });
    expect(broken.status).toBe(400);
    expect(await refusal('/accounts', { name: 'x'.repeat(201) })).toEqual([422, 'invalid_parameter']);
    const list = await gateway.call('/admin/v1/accounts', { body: '[]', apiKey: writer.key });
    expect(list.status).toBe(422);
  });
});

test('addresses that are like that of the API are no pages', async () => {
  const gateway = await startTestGateway();
  try {
    for (const path of ['/admin', '/admin/', '/admin/v11'])
      expect([path, (await gateway.call(path)).status]).toEqual([path, 404]);
  } finally {
    await gateway.stop();
  }
});
