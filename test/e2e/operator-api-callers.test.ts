import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { issueOperatorKey } from '../../src/operator/operators.ts';
import { operatorEngines, useOperatorApi, type Body } from './operator-api-calls.ts';

describe.each(operatorEngines)("the operator's API on %s", (engine) => {
  const { gateway, operator, writer, reader, issue, call, refusal } = useOperatorApi(engine);

  const refused = async (query: string): Promise<Body[]> => {
    const { body } = await call(`/audit?limit=1000${query}`);
    return (body as { changes: Body[] }).changes.filter(({ outcome }) => outcome === 'failed');
  };

  test('a key with the role read reads everything and changes nothing', async () => {
    expect((await call('/accounts', undefined, reader().key)).status).toBe(200);
    const before = (await call('/accounts?limit=1000')).body;
    expect(await refusal('/accounts', { name: 'x' }, reader().key)).toEqual([403, 'role_not_allowed']);
    expect((await call('/accounts?limit=1000')).body).toEqual(before);
  });

  test('refused calls are in the audit log with who made them, and without what they sent', async () => {
    const author = await issue('--label', 'author', '--role', 'write');
    const secret = `op_causeway_${'z9'.repeat(20)}abc`;
    const since = `&since=${new Date().toISOString()}`;
    const guess = await gateway().call('/admin/v1/accounts', {
      apiKey: secret,
      headers: { 'x-forwarded-for': '192.0.2.41' },
    });
    const role = await call('/accounts', { name: secret }, reader().key);
    const slip = await call('/accounts', { nmae: secret }, author.key);
    const broken = await gateway().call('/admin/v1/accounts', { body: '{"name":', apiKey: author.key });
    expect([guess, role, slip, broken].map(({ status }) => status)).toEqual([401, 403, 422, 400]);
    // Reading with a wrong parameter changes nothing and is not noted.
    expect(await refusal('/accounts?limit=0')).toEqual([422, 'invalid_parameter']);
    const of = (key: { id: string }, label: string) => ({ actor: `key:${key.id}`, actor_label: label });
    const create = { operation: 'create_account', input: {} };
    expect(await refused(since)).toMatchObject([
      { ...of(author, 'author'), ...create, error: 'invalid_json' },
      { ...of(author, 'author'), ...create, error: 'invalid_parameter' },
      {
        ...of(reader(), 'console'),
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
    const sent = await gateway().call('/admin/v1/leads/import', {
      body: 'x',
      apiKey: reader().key,
      headers: { 'content-type': 'application/pdf' },
    });
    expect([sent.status, await sent.json()]).toMatchObject([403, { error: { code: 'role_not_allowed' } }]);
    const [row] = await refused('&operation=import_leads');
    expect(row).toMatchObject({ actor: `key:${reader().id}`, error: 'role_not_allowed' });
  });

  test('strangers cannot fill the audit log: beyond a limit their refusals are counted', async () => {
    const guessFrom = async (address: string) => {
      const headers = { 'x-forwarded-for': address };
      await gateway().call('/admin/v1/accounts', { apiKey: 'op_guess', headers });
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
    const { store, clock } = gateway().services;
    const expired = await issueOperatorKey(
      { store, clock, brand: 'causeway', config: () => Promise.resolve(gateway().services.config) },
      { id: randomUUID(), label: 'older', role: 'write', expiresAt: clock.now() - 1 },
    );
    expect((await call('/accounts', undefined, ended.key)).status).toBe(200);
    const { stdout } = await operator().print('operator-keys', 'revoke', ended.key, '--json');
    expect(stdout).toMatch(/"revoked_at": "20/);
    for (const key of [null, 'nonsense', gateway().apiKey, ended.key, expired.key])
      for (const path of ['/accounts', '/openapi.json', '/nowhere'])
        expect(await refusal(path, undefined, key)).toEqual([401, 'invalid_api_key']);
    expect(await refusal('', undefined, null)).toEqual([401, 'invalid_api_key']);
    const past = ['--label', 'x', '--role', 'read', '--expires', '2020-01-01'];
    expect(await operator().refusal('operator-keys', 'issue', ...past)).toMatchObject({
      code: 'invalid_usage',
    });
    for (const path of ['/v1/balance', '/v1/models', '/mcp'])
      expect(
        (await gateway().call(path, { apiKey: writer().key, body: path === '/mcp' ? {} : undefined })).status,
      ).toBe(401);
    const log = JSON.stringify((await call('/audit?limit=1000')).body);
    expect(log).toContain(`"${ended.key.slice(0, 16)}…${ended.key.slice(-4)}"`);
    for (const { key } of [writer(), reader(), ended]) expect(log).not.toContain(key.slice(12, -4));
    const { stdout: listed } = await operator().print('operator-keys', 'list', '--json');
    expect(listed).not.toContain(writer().key);
  });

  test('many calls without a key are limited by the address, and those with a key are not', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.7' };
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 22; attempt += 1)
      statuses.push((await gateway().call('/admin/v1/accounts', { apiKey: 'op_guess', headers })).status);
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 401), 429, 429]);
    const other = { 'x-forwarded-for': '203.0.113.8' };
    expect((await gateway().call('/admin/v1/accounts', { apiKey: null, headers: other })).status).toBe(401);
    expect((await gateway().call('/admin/v1/accounts', { apiKey: writer().key, headers })).status).toBe(200);
  });
});
