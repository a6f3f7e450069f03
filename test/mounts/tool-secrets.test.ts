import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import pino from 'pino';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';
import { openAccount } from '../mcp/open-account.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { hostileProgram, mountYaml } from './mount-yaml.ts';

const secrets = { theirs: 'their-own-secret', ours: 'secret-of-the-operator' };
const lines: string[] = [];
let gateway: TestGateway;
let apiKey: string;
beforeAll(async () => {
  gateway = await startTestGateway({
    yaml: mountYaml({
      hostile: { args: [hostileProgram], env: ['OURS'], per_account: ['TOKEN'], prices: { environment: 1 } },
      plain: { args: [hostileProgram] },
    }),
    environment: {
      PATH: process.env['PATH'] ?? '',
      OURS: secrets.ours,
      TOOLS_SECRETS_KEY: '0c'.repeat(32),
    },
    log: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
  });
  ({ apiKey } = await openAccount(gateway.services));
  await acceptToolsOf(gateway.services, 'hostile');
});
afterAll(() => gateway.stop());

const set = (body: object, { server = 'hostile', key = apiKey } = {}): Promise<Response> =>
  gateway.call(`/v1/tools/${server}/secrets`, { method: 'PUT', body, apiKey: key });
const call = (tool: string, input = {}): Promise<Response> =>
  gateway.call(`/v1/tools/hostile/${tool}`, { body: { arguments: input }, apiKey });

describe('secrets of an account', () => {
  it('are asked for by name, before anything is charged', async () => {
    const answer = await call('environment');
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error: {
        code: 'invalid_value',
        message: expect.stringContaining('Set TOKEN with PUT /v1/tools/hostile/secrets'),
      },
    });
  });

  it('are set and used, and never answered', async () => {
    const answer = await set({ secrets: { TOKEN: secrets.theirs } });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ server: 'hostile', set: ['TOKEN'], lacking: [] });
    expect(await (await set({ secrets: {} })).text()).not.toContain(secrets.theirs);
    const used = await call('environment');
    expect(used.headers.get('x-causeway-charge-usd')).toBe('1.00');
    expect(JSON.stringify(await used.json())).toContain(secrets.theirs);
  });

  it('and those of the operator are never in the log, also if a server writes them', async () => {
    const said = `console.error('I have ' + process.env.TOKEN + ' and ' + process.env.OURS)`;
    expect((await call('run', { code: said })).status).toBe(200);
    await expect.poll(() => lines.join('')).toContain('I have [TOKEN] and [OURS]');
    for (const secret of Object.values(secrets)) expect(lines.join('')).not.toContain(secret);
  });

  it.each([
    ['of a server that takes none', { server: 'plain' }, { secrets: { TOKEN: 'a' } }, 400, 'invalid_value'],
    ['of no server', { server: 'none' }, { secrets: { TOKEN: 'a' } }, 400, 'invalid_value'],
    ['of other names', {}, { secrets: { TOKEN: 'a', PATH: '/tmp' } }, 400, 'invalid_value'],
    ['that are empty', {}, { secrets: { TOKEN: '' } }, 422, 'invalid_parameter'],
    ['that are too long', {}, { secrets: { TOKEN: 'a'.repeat(4_097) } }, 422, 'invalid_parameter'],
    ['with a NUL', {}, { secrets: { TOKEN: 'a\0b' } }, 422, 'invalid_parameter'],
    ['in another member', {}, { TOKEN: 'a' }, 422, 'invalid_parameter'],
  ])('%s are refused', async (_which, where, body, status, code) => {
    const answer = await set(body, where);
    expect(answer.status).toBe(status);
    expect(JSON.stringify(await answer.json())).toMatch(status === 422 ? /detail|invalid_parameter/ : code);
  });

  it('are not set by a key with limits, nor without a key', async () => {
    const made = await gateway.call('/v1/keys', { body: { budget_day_usd: '1.00' }, apiKey });
    const { key } = (await made.json()) as { key: string };
    const answer = await set({ secrets: { TOKEN: 'a' } }, { key });
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ error: { code: 'permission_denied' } });
    const without = await gateway.call('/v1/tools/hostile/secrets', {
      method: 'PUT',
      body: { secrets: {} },
      apiKey: null,
    });
    expect(without.status).toBe(401);
  });

  it('are those of the account that calls alone', async () => {
    const other = await openAccount(gateway.services);
    const answer = await gateway.call('/v1/tools/hostile/environment', { body: {}, apiKey: other.apiKey });
    expect(answer.status).toBe(400);
  });

  it('are gone when they are null', async () => {
    expect(await (await set({ secrets: { TOKEN: null } })).json()).toMatchObject({
      set: [],
      lacking: ['TOKEN'],
    });
    expect((await call('environment')).status).toBe(400);
    expect(await gateway.services.store.checkLedger()).toMatchObject({ problems: [], openHolds: 0 });
  });
});
