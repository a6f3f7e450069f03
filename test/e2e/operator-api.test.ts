import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { documents } from '../cli/run-cli.ts';
import { operatorEngines, useOperatorApi, type Body } from './operator-api-calls.ts';
import { startTestGateway } from './start-test-gateway.ts';

describe.each(operatorEngines)("the operator's API on %s", (engine) => {
  const { gateway, operator, writer, reader, call, refusal, openAccount } = useOperatorApi(engine);

  test('an account is created, approved, suspended and read, as the command line shows it', async () => {
    const created = documents.account.parse((await call('/accounts', { name: ' Acme ' })).body).account;
    expect(created).toMatchObject({ name: 'Acme', status: 'pending', sandbox: false, balance_usd: '0.00' });
    const path = `/accounts/${created.id}`;
    const approve = () =>
      gateway().call(`/admin/v1${path}/approve`, { method: 'POST', apiKey: writer().key });
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
    expect(await operator().answer(documents.shownAccount, 'accounts', 'show', created.id)).toEqual(body);
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
    expect(await operator().answer(documents.accounts, 'accounts', 'list')).toEqual(
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
        const answer = await gateway().call(`/v1/keys/${id}`, { method, body });
        expect([method, answer.status]).toEqual([method, 422]);
      }
    }
  });

  test('the charge of a job is refunded, and usage and ledger show it', async () => {
    const made = await gateway().call('/v1/images/generations', {
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
    const customers = (await (await gateway().call('/v1/usage')).json()) as Body;
    expect(usage).toEqual({ ...customers, from: usage['from'], to: usage['to'] });
    const shown = await operator().print('accounts', 'usage', refunded.entry.account_id);
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
    await operator().refusal('adjust', id, '-1', '--reason', 'too much');
    type Change = Body & { id: string; at: string };
    const { body: log } = await call('/audit?limit=2');
    const [adjusted, created] = (log as { changes: [Change, Change] }).changes;
    expect(created).toEqual({
      id,
      at: expect.any(String),
      actor: `key:${writer().id}`,
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
    const ofKey = ['audit', 'list', '--actor', `key:${writer().id}`, '--limit', '1'];
    expect(await operator().answer(z.unknown(), ...ofKey, '--operation', 'create_account')).toEqual({
      changes: [created],
      has_more: true,
    });
    expect((await call(`/audit?since=${adjusted.at}&operation=adjust_account`)).body).toEqual({
      changes: [adjusted],
      has_more: false,
    });
    expect(await refusal(`/audit?after=${randomUUID()}`)).toEqual([404, 'audit_not_found']);
  });

  test('the API describes itself to operators, and answers 404 and 405 as the other addresses do', async () => {
    const { body } = await call('/openapi.json', undefined, reader().key);
    expect(body).toMatchObject({ openapi: '3.1.0', paths: { '/admin/v1/accounts': { get: {}, post: {} } } });
    for (const path of ['', '/', '/nowhere']) expect(await refusal(path)).toEqual([404, 'not_found']);
    for (const [path, allow] of [
      ['accounts', 'GET, HEAD, POST'],
      ['openapi.json', 'GET, HEAD'],
    ] as const) {
      const wrong = await gateway().call(`/admin/v1/${path}`, { method: 'DELETE', apiKey: writer().key });
      expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, allow]);
      const head = await gateway().call(`/admin/v1/${path}`, { method: 'HEAD', apiKey: writer().key });
      expect([head.status, head.headers.get('cache-control')]).toEqual([200, 'no-store']);
    }
    const broken = await gateway().call('/admin/v1/accounts', { body: '{"name":', apiKey: writer().key });
    expect(broken.status).toBe(400);
    expect(await refusal('/accounts', { name: 'x'.repeat(201) })).toEqual([422, 'invalid_parameter']);
    const list = await gateway().call('/admin/v1/accounts', { body: '[]', apiKey: writer().key });
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
