import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/kit/clock.ts';
import { createOperatorOpenApi } from '../../src/operator/operator-openapi.ts';
import { issueOperatorKey } from '../../src/operator/operators.ts';
import { verbs } from '../../src/operator/verbs.ts';
import { createTestDatabase } from '../cli/test-database.ts';
import { openAccount } from '../mcp/open-account.ts';
import { hasService } from '../outside-services.ts';
import { arbitraryFrom } from './arbitrary-from-schema.ts';
import { createAnswerCheck, type CheckAnswer, type Description } from './interface-description.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const engines = ['sqlite', ...(hasService('PostgreSQL') ? ['postgres'] : [])];

const textOf = (value: unknown): string =>
  (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')).toWellFormed();

describe.each(engines)("the operator's API on %s, with input of every kind", (engine) => {
  let gateway: TestGateway;
  let database: Awaited<ReturnType<typeof createTestDatabase>> = null;
  let check: CheckAnswer;
  let accountId = '';
  let apiKey = '';
  beforeAll(async () => {
    database = engine === 'postgres' ? await createTestDatabase() : null;
    gateway = await startTestGateway({
      environment: database === null ? {} : { DATABASE_URL: database.url },
    });
    const { store, config } = gateway.services;
    const services = { store, clock: systemClock, brand: 'causeway', config: () => Promise.resolve(config) };
    const key = { id: 'k', label: 'fuzz', role: 'write', expiresAt: null } as const;
    apiKey = (await issueOperatorKey(services, key)).key;
    ({ accountId } = await openAccount(gateway.services));
    const document = createOperatorOpenApi({ brand: 'causeway', publicUrl: gateway.url });
    check = createAnswerCheck(gateway, JSON.parse(JSON.stringify(document)) as Description);
  });
  afterAll(async () => {
    await gateway.stop();
    await database?.drop();
  });

  // Profiles, providers and settings are not in the store.
  const stored = verbs.filter(({ group }) => group !== 'leads' && group !== 'gateway');
  const tried = engine === 'sqlite' ? verbs : stored;
  test.each(tried.map((operation) => [operation.name, operation] as const))(
    '%s answers as it is described, and never with a fault',
    async (_, { input, rest }) => {
      const schema = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
      await fc.assert(
        fc.asyncProperty(arbitraryFrom(schema), fc.boolean(), async (arbitrary, isKnown) => {
          const given: Record<string, unknown> =
            typeof arbitrary === 'object' && arbitrary !== null ? { ...arbitrary } : {};
          const fields = isKnown && 'account_id' in given ? { ...given, account_id: accountId } : given;
          const inPath = new Set<string>();
          const path = rest.path.replace(/\{(\w+)\}/g, (_all, name: string) => {
            inPath.add(name);
            return encodeURIComponent(textOf(fields[name]) || '-');
          });
          const others = Object.entries(fields).filter(
            ([name, value]) => !inPath.has(name) && value !== undefined,
          );
          const query = new URLSearchParams(
            rest.method === 'GET'
              ? others.map(([name, value]): [string, string] => [name.toWellFormed(), textOf(value)])
              : [],
          );
          const body = rest.method === 'POST' ? Object.fromEntries(others) : undefined;
          const { name } = await check(rest.path, { path: `${path}?${query.toString()}`, apiKey, body });
          expect(name).toMatch(/ [24]\d\d$/);
        }),
        { numRuns: 25 },
      );
      expect((await gateway.services.store.checkLedger()).problems).toEqual([]);
    },
  );
});
