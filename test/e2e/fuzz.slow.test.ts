import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { nanoPerUsd } from '../../src/kit/money.ts';
import type { Operation } from '../../src/operations/definition.ts';
import { clientKinds } from '../mcp/clients.ts';
import { openAccount } from '../mcp/open-account.ts';
import { operations, toolOperations } from '../operations/test-operations.ts';
import { arbitraryFrom } from './arbitrary-from-schema.ts';
import { startTestGateway, whenSearchReady, type TestGateway } from './start-test-gateway.ts';
import { isSold, rulesOf } from '../../src/operations/sale-rules.ts';

let gateway: TestGateway;
interface TestAccount {
  accountId: string;
  apiKey: string;
}
let poor: TestAccount;
let rich: TestAccount;

beforeAll(async () => {
  gateway = await startTestGateway({
    environment: {
      SEARCH_RATE_PER_MINUTE: '1000000',
      REQUESTS_PER_MINUTE: '1000000',
      SYNTHETIC_PROFILES: '200',
    },
  });
  await whenSearchReady(gateway);
  poor = await openAccount(gateway.services, { amount: 0n });
  rich = await openAccount(gateway.services);
});

afterAll(async () => {
  await gateway.stop();
});

const newest = () => {
  const kind = clientKinds.at(-1);
  if (kind === undefined) throw new Error('there are no clients');
  return kind;
};

const inputOf = (operation: Operation): unknown =>
  z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any' });

const fill = (path: string, input: Record<string, unknown>): string =>
  path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(textOf(input[name])));

/** What a query or a path can carry of a value; a lone surrogate cannot be encoded. */
const textOf = (value: unknown): string =>
  (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')).toWellFormed();

const send = (operation: Operation, input: unknown, { apiKey }: TestAccount): Promise<Response> => {
  const fields: Record<string, unknown> = typeof input === 'object' && input !== null ? { ...input } : {};
  const { method, path, query } = operation.rest;
  const url = new URL(fill(path, fields), gateway.url);
  const inQuery = method === 'GET' ? Object.keys(fields) : query;
  for (const name of inQuery)
    if (fields[name] !== undefined && !path.includes(`{${name}}`))
      url.searchParams.append(name.toWellFormed(), textOf(fields[name]));
  return gateway.call(url.pathname + url.search, {
    apiKey,
    ...(method === 'GET' ? {} : { body: JSON.stringify(input) }),
  });
};

const errorBody = z.union([
  z.looseObject({
    error: z.looseObject({ type: z.string().min(1), code: z.string().min(1), message: z.string().min(1) }),
  }),
  z.looseObject({
    detail: z.array(z.looseObject({ loc: z.array(z.union([z.string(), z.int()])), msg: z.string() })).min(1),
  }),
  z.looseObject({ x402Version: z.literal(1), accepts: z.array(z.unknown()).min(1) }),
]);

const nothingMoved = async (): Promise<void> => {
  const { store } = gateway.services;
  expect(await store.getAccount(poor.accountId)).toMatchObject({ balance: 0n, held: 0n });
  expect(await store.listJobs({ accountId: poor.accountId, limit: 10, before: null })).toEqual([]);
};

describe.each(operations.map((operation) => [operation.name, operation] as const))(
  '%s, with input of every kind and no money',
  (_name, operation) => {
    it('never answers a fault over REST, opens no job and moves no money', async () => {
      await fc.assert(
        fc.asyncProperty(arbitraryFrom(inputOf(operation)), async (input) => {
          const response = await send(operation, input, poor);
          const text = await response.text();
          expect([response.status < 500, text]).toEqual([true, text]);
          if (!response.ok) errorBody.parse(JSON.parse(text));
          const isFree = !isSold(operation.sale) || 'matches' in JSON.parse(text);
          expect(isFree || !response.ok).toBe(true);
        }),
        { numRuns: 120, interruptAfterTimeLimit: 20_000 },
      );
      await nothingMoved();
    });
  },
);

describe.each(toolOperations.map((operation) => [operation.name, operation] as const))(
  'the tool %s, with input of every kind and no money',
  (_name, operation) => {
    it('never answers a fault', async () => {
      const client = await newest().connect(`${gateway.url}/mcp`, poor.apiKey);
      try {
        await fc.assert(
          fc.asyncProperty(arbitraryFrom(inputOf(operation)), async (input) => {
            const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
            const result = await client.callTool(operation.name, isObject ? { ...input } : {});
            expect(JSON.stringify(result.structuredContent ?? {})).not.toContain('"server_error"');
          }),
          { numRuns: 40, interruptAfterTimeLimit: 15_000 },
        );
      } finally {
        await client.close();
      }
      await nothingMoved();
    });
  },
);

/** Without video: what is right would be filmed. */
const bought = operations.filter(({ sale, name }) => rulesOf(sale).isPrepaid && name !== 'create_video');

describe('all that sells, with input of every kind and money', () => {
  it('leaves no hold behind and charges what came to a good end only', async () => {
    const { store } = gateway.services;
    const anything = fc
      .constantFrom(...bought)
      .chain((operation) => arbitraryFrom(inputOf(operation)).map((input) => ({ operation, input })));
    await fc.assert(
      fc.asyncProperty(anything, async ({ operation, input }) => {
        const response = await send(operation, input, rich);
        const text = await response.text();
        expect([response.status < 500, text]).toEqual([true, text]);
      }),
      { numRuns: 150, interruptAfterTimeLimit: 25_000 },
    );
    await expect
      .poll(async () => (await store.getAccount(rich.accountId))?.held, { timeout: 60_000 })
      .toBe(0n);
    const jobs = await store.listJobs({ accountId: rich.accountId, limit: 1_000, before: null });
    const account = await store.getAccount(rich.accountId);
    expect(jobs.length).toBeGreaterThan(0);
    for (const job of jobs) expect(job.status === 'done' || job.charged === 0n).toBe(true);
    const charged = jobs.reduce((sum, job) => sum + job.charged, 0n);
    expect(account?.balance).toBe(10n * nanoPerUsd - charged);
    expect((await store.checkLedger()).problems).toEqual([]);
  });
});
