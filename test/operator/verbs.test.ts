import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { readConfig } from '../../src/config/config.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { AppError } from '../../src/kit/errors.ts';
import type { JsonObject } from '../../src/kit/json.ts';
import { createOperatorOpenApi } from '../../src/operator/operator-openapi.ts';
import type { Verb, OperatorServices } from '../../src/operator/verb.ts';
import { operatorKeyVerbs } from '../../src/operator/operators.ts';
import { verbs } from '../../src/operator/verbs.ts';
import { runVerb, type OperatorCall } from '../../src/operator/run-verb.ts';
import { openTestStoreHere } from './open-test-store-here.ts';

const all = [...verbs, ...operatorKeyVerbs].map((verb) => [verb.name, verb] as const);

const openServices = async (): Promise<OperatorServices> => ({
  store: await openTestStoreHere(),
  clock: systemClock,
  brand: 'causeway',
  config: () => Promise.resolve(readConfig({}, null)),
});

const callAs = (role: OperatorCall['role']): OperatorCall => ({
  actor: 'key:7c1d8f52-94a6-4a0e-8f3b-6f1f8a5e2b90',
  actorLabel: 'console',
  role,
  requestId: 'req_1',
});

const exampleInput = ({ docs }: Verb): object => ({
  ...docs.examples[0].parameters,
  ...docs.examples[0].body,
});

test('no two verbs have one name or one route, and no two forms of answers one name', () => {
  for (const of of [({ name }: Verb) => name, ({ rest }: Verb) => `${rest.method} ${rest.path}`])
    expect(new Set(verbs.map(of)).size).toBe(verbs.length);
  const answers = new Set(verbs.map(({ docs }) => docs.answer));
  expect(new Set(verbs.map(({ output }) => output)).size).toBe(answers.size);
});

test.each(all)('%s describes itself and its fields', (name, { title, description, rest, role, input }) => {
  expect(name).toMatch(/^[a-z]+(_[a-z]+)+$/);
  expect(title).toMatch(/^[A-Z].*[^.]$/);
  expect(description).toMatch(/^[A-Z].*\.$/s);
  expect(rest.path).toMatch(/^\/admin\/v1\/[a-z]/);
  expect(rest.method).toBe(role === 'read' ? 'GET' : 'POST');
  const { properties } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  for (const schema of Object.values(properties ?? {})) expect(schema).toHaveProperty('description');
});

test.each(all)('%s has an example that fits its schemas', (_, verb) => {
  expect(verb.input.safeParse(exampleInput(verb)).error).toBeUndefined();
  expect(verb.output.safeParse(verb.docs.examples[0].answer).error).toBeUndefined();
});

test.each(all.filter(([, { command }]) => command !== undefined))(
  '%s shows people what its answer has',
  async (_, verb) => {
    const services = await openServices();
    const [{ answer }] = verb.docs.examples;
    const { of = Object.keys(answer ?? {})[0] ?? '', table, show } = verb.command!;
    expect(answer).toHaveProperty(of);
    if (table === undefined) {
      expect(await show?.(answer ?? {}, services, exampleInput(verb) as JsonObject)).toBeTruthy();
      return;
    }
    const [item] = [(answer as Record<string, never>)[of]].flat();
    const row = { ...(item as object | undefined), ...table.row?.(item as never) };
    for (const [, member = ''] of table.columns.matchAll(/(\w+)(?:=\w+)?/g))
      expect(row).toHaveProperty(member);
  },
);

test.each(all)('%s refuses a field that it does not know', async (_, verb) => {
  const services = await openServices();
  const input = { ...exampleInput(verb), colour: 'blue' };
  await expect(runVerb(verb, async () => input, callAs('write'), services)).rejects.toMatchObject({
    code: 'invalid_parameter',
    param: 'colour',
  });
  const row = { operation: verb.name, input: {}, outcome: 'failed', error: 'invalid_parameter' };
  expect(await services.store.listAudit({ limit: 10 })).toMatchObject(verb.role === 'read' ? [] : [row]);
});

/** Texts without a bound, by their paths: the audit log keeps them. */
const unboundedTexts = (schema: z.core.JSONSchema._JSONSchema, path: string): string[] => {
  if (typeof schema === 'boolean') return [];
  const isText = schema.type === 'string' && schema.enum === undefined && schema.maxLength === undefined;
  return [
    ...(isText ? [path] : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, inner]) =>
      unboundedTexts(inner, `${path}.${name}`),
    ),
  ];
};

test.each(all)('%s takes no text without a bound', (name, { input }) => {
  expect(unboundedTexts(z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }), name)).toEqual([]);
});

test.each(all)(
  '%s is in the audit log if it changes something, and needs the role write',
  async (_, verb) => {
    const services = await openServices();
    const seen: unknown[] = [];
    const watched: Verb = {
      ...verb,
      handle: async (_input, { store }, callId) => {
        seen.push(...(await store.listAudit({ limit: 10 })));
        throw new AppError('account_not_found', callId);
      },
    };
    const input = exampleInput(verb);
    const refused = await runVerb(watched, async () => input, callAs('read'), services).catch(
      (error: AppError) => error,
    );
    if (verb.role === 'read') {
      expect(refused).toMatchObject({ code: 'account_not_found' });
      expect(await services.store.listAudit({ limit: 10 })).toEqual([]);
      return;
    }
    expect(refused).toMatchObject({ code: 'role_not_allowed', status: 403 });
    const [refusal] = await services.store.listAudit({ limit: 10 });
    expect(refusal).toMatchObject({ input: {}, outcome: 'failed', error: 'role_not_allowed' });
    const failed = await runVerb(watched, async () => input, callAs('write'), services).catch(
      (error: AppError) => error,
    );
    expect(seen).toMatchObject([{ outcome: null, finishedAt: null, operation: verb.name }, refusal]);
    expect(await services.store.listAudit({ limit: 1 })).toEqual([
      {
        id: (failed as AppError).message,
        at: expect.any(Number),
        actor: 'key:7c1d8f52-94a6-4a0e-8f3b-6f1f8a5e2b90',
        actorLabel: 'console',
        operation: verb.name,
        input: verb.logged?.(verb.input.parse(input)) ?? input,
        requestId: 'req_1',
        outcome: 'failed',
        error: 'account_not_found',
        finishedAt: expect.any(Number),
      },
    ]);
  },
);

test('the description has every verb with its role, and a public validator passes it', async () => {
  const document = createOperatorOpenApi({ brand: 'causeway', publicUrl: 'https://gateway.example' });
  const text = JSON.stringify(document);
  expect(await new Validator().validate(JSON.parse(text))).toEqual({ valid: true });
  const { paths, tags, components } = document as {
    paths: Record<string, Record<string, { operationId: string; description: string }>>;
    tags: { name: string; description: string }[];
    components: { schemas: Record<string, object>; headers: Record<string, object> };
  };
  for (const { name, rest, role } of verbs) {
    const described = paths[rest.path]?.[rest.method.toLowerCase()];
    expect(described?.operationId).toBe(name);
    expect(described?.description.includes('role `write`')).toBe(role === 'write');
  }
  for (const { name, description } of tags) expect(description).not.toBe(name);
  for (const [, kind = '', name = ''] of text.matchAll(/"#\/components\/(schemas|headers)\/(\w+)"/g))
    expect(components[kind as 'schemas' | 'headers']).toHaveProperty(name);
});
