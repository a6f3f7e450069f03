import { afterAll, beforeAll } from 'vitest';
import { z } from 'zod';
import { documents, operatorOf } from '../cli/run-cli.ts';
import { createTestDatabase } from '../cli/test-database.ts';
import { hasService } from '../outside-services.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

export type Body = Record<string, unknown>;

const issuedKey = z.strictObject({
  key: z.string().regex(/^op_causeway_[0-9A-Za-z]{43}$/),
  operator_key: z.looseObject({ id: z.uuid(), role: z.string(), expires_at: z.string().nullable() }),
});

export const operatorEngines = ['sqlite', ...(hasService('PostgreSQL') ? ['postgres'] : [])];

/** A gateway on this engine, its command line, and a key of each role, for the tests of one file. */
export const useOperatorApi = (engine: string) => {
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
  return {
    gateway: () => gateway,
    operator: () => operator,
    writer: () => writer,
    reader: () => reader,
    issue,
    call,
    refusal,
    openAccount,
  };
};
