import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AppError, errorTable, type ErrorCode } from '../../src/kit/errors.ts';
import { readConfig } from '../../src/config/config.ts';
import { listBuyerTools } from '../../src/mcp/buyer-lists.ts';
import { createToolList, isIn, isTool, toTool } from '../../src/mcp/tool-list.ts';
import { toInputSchema } from '../../src/mcp/tool-schemas.ts';
import { createOperations } from '../../src/operations/index.ts';
import { toErrorResult } from '../../src/mcp/tool-result.ts';
import { createOpenApi } from '../../src/rest/openapi.ts';
import type { Operation } from '../../src/operations/definition.ts';
import { opaqueMark, restMark, unlistedMark } from '../../src/operations/schema-marks.ts';
import { operations as allOperations, toolOperations as operations } from '../operations/test-operations.ts';
import { rulesOf } from '../../src/operations/sale-rules.ts';

const tools = createToolList({ operations });
const all = operations.map((operation) => toTool(operation, 'all'));
const { models } = readConfig({}, null);
const namesOf = (group: 'all' | 'search' | 'generation', hasKey: boolean): string[] => {
  const inGroup = operations.filter((operation) => isIn(group, operation));
  const list = hasKey ? listBuyerTools(inGroup, models, { group, hasKey }) : tools.list(group);
  return list.tools.map(({ name }) => name);
};
const keyed = operations.filter(({ sale }) => !rulesOf(sale).isPaid).map(({ name }) => name);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every schema inside a schema. */
const parts = (value: unknown): Record<string, unknown>[] => {
  if (Array.isArray(value)) return value.flatMap(parts);
  return isObject(value) ? [value, ...Object.values(value).flatMap(parts)] : [];
};

/** A schema with all schemas inside it: members, elements and alternatives, but no values such as those of `default`. */
const schemasIn = (schema: unknown): unknown[] => {
  if (!isObject(schema)) return [schema];
  const { properties, items, additionalProperties: others, anyOf, oneOf } = schema;
  const inner = [
    ...Object.values(isObject(properties) ? properties : {}),
    ...(items === undefined ? [] : [items]),
    ...(isObject(others) ? [others] : []),
    ...[anyOf, oneOf].flatMap((alternatives) => (Array.isArray(alternatives) ? alternatives : [])),
  ];
  return [schema, ...inner.flatMap(schemasIn)];
};

const bounds = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'enum',
  'const',
]);

/** Every bound in a schema, at any depth, in alphabetical order. */
const boundsIn = (schema: unknown): string[] =>
  parts(schema)
    .flatMap((part) => Object.entries(part))
    .filter(([word, value]) => bounds.has(word) && !isObject(value))
    .map(([word, value]) => `${word}: ${JSON.stringify(value)}`)
    .toSorted();

const description = JSON.parse(
  JSON.stringify(
    createOpenApi({
      operations: allOperations,
      publicUrl: 'http://localhost',
      title: 'Test',
      protocols: ['x402'],
      paymentRequiredSchema: {},
    }),
  ),
);

/** The fields of a call as the interface description has them: parameters, headers by the names of tools, and the body. */
const describedFields = (name: string): Record<string, unknown> => {
  const { method, path } = operations.find((operation) => operation.name === name)!.rest;
  const { parameters, requestBody } = description.paths[path][method.toLowerCase()];
  const body: string | undefined = requestBody?.content['application/json'].schema.$ref;
  return {
    ...Object.fromEntries(
      parameters.map((one: { name: string; schema: unknown }) => [
        one.name.toLowerCase().replaceAll('-', '_'),
        one.schema,
      ]),
    ),
    ...(body === undefined ? {} : description.components.schemas[body.split('/').at(-1)!].properties),
  };
};

/** The fields that an operation marks as not for tools. */
const unlistedFields = ({ input }: Operation): string[] =>
  Object.entries(z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }).properties ?? {})
    .filter(([, schema]) => isObject(schema) && unlistedMark in schema)
    .map(([name]) => name);

const isErrorCode = (code: string): code is ErrorCode => code in errorTable;

describe('the tool lists', () => {
  it('show a visitor without a key what is paid call by call, and nothing else', () => {
    expect(namesOf('all', false)).toEqual(['search_leads']);
    expect(namesOf('search', false)).toEqual(['search_leads']);
    expect(namesOf('generation', false)).toEqual([]);
  });

  it('show a visitor with a key every operation, in the order of the operations', () => {
    expect(namesOf('all', true)).toEqual(operations.map(({ name }) => name));
    expect(namesOf('search', true)).toEqual(['search_leads']);
    expect(namesOf('generation', true)).toEqual(keyed);
  });

  it.each([
    ['GET /v1/balance', 'get_balance'],
    ['GET /v1/usage', 'get_usage'],
    ['GET /v1/jobs', 'list_jobs'],
    ['GET /v1/transactions', 'list_transactions'],
    ['GET /v1/jobs/{job_id}', 'get_job'],
    ['GET /v1/models', 'list_models'],
    ['POST /v1/chat/completions', 'create_chat_completion'],
    ['POST /v1/responses', 'create_response'],
    ['GET /v1/responses/{response_id}', 'get_response'],
    ['POST /v1/images/generations', 'create_image'],
    ['POST /v1/videos', 'create_video'],
    ['GET /v1/videos/{video_id}', 'get_video'],
    ['GET /v1/videos/{video_id}/content', 'get_video_content'],
    ['GET /v1/search', 'search_leads'],
  ])('have for %s the tool %s', (endpoint, name) => {
    const served = operations.filter(({ rest }) => `${rest.method} ${rest.path}` === endpoint);
    expect(served.map((operation) => operation.name)).toEqual([name]);
  });

  it('leave out what is marked as not for tools, of what is taken and of what is answered', () => {
    expect(operations.flatMap(unlistedFields).length).toBeGreaterThan(20);
    const shown = JSON.stringify(all);
    for (const mark of [restMark, unlistedMark, opaqueMark]) expect(shown).not.toContain(mark);
    expect(
      Object.keys(all.find(({ name }) => name === 'get_response')?.outputSchema?.properties ?? {}),
    ).toEqual(['id', 'status', 'output', 'output_text']);
  });

  it('are made once', () => {
    expect(tools.list('all')).toBe(tools.list('all'));
  });

  it('find a tool in its own group only', () => {
    expect(tools.find('search', 'create_image')).toBeNull();
    expect(tools.find('all', 'create_image')?.name).toBe('create_image');
    expect(tools.find('all', 'toString')).toBeNull();
  });

  it('cost a model less than 6,600 tokens in all', () => {
    expect(countTokens(JSON.stringify({ tools: all }))).toBeLessThan(6_600);
    const inputs = all.map(({ outputSchema: _answer, ...tool }) => tool);
    expect(countTokens(JSON.stringify({ tools: inputs }))).toBeLessThan(4_800);
  });

  it('cost a wallet, which has no key, less than 2,000 tokens', () => {
    const { search } = readConfig({}, null);
    const sold = createOperations(search, { takesVideoWebhooks: false }, { isOn: true });
    const list = listBuyerTools(sold.filter(isTool), models, { group: 'all', hasKey: false });
    expect(list.tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'search_leads',
        'create_chat_completion',
        'create_image',
        'create_video',
        'top_up',
        'sign_in',
        'get_job',
        'get_video',
        'get_receipt',
      ]),
    );
    expect(countTokens(JSON.stringify(list))).toBeLessThan(2_000);
    for (const { name, inputSchema } of list.tools) {
      const { required = [] } = toInputSchema(sold.find((operation) => operation.name === name)!);
      expect(Object.keys(inputSchema.properties ?? {})).toEqual(expect.arrayContaining(required));
    }
  });

  it('name to a key the models that it can buy, and the one that is taken without a name', () => {
    const { tools: listed } = listBuyerTools(operations, models, { group: 'all', hasKey: true });
    const modelOf = (name: string): unknown =>
      listed.find((tool) => tool.name === name)?.inputSchema.properties?.['model'];
    const chat = models.filter(({ kind }) => kind === 'chat').map(({ sku }) => sku);
    for (const name of ['create_chat_completion', 'create_response'])
      expect(modelOf(name)).toEqual({ type: 'string', enum: chat, default: 'textmodel-3.5-flash' });
    expect(modelOf('create_image')).toMatchObject({ enum: ['imagemodel-1.0'], default: 'imagemodel-1.0' });
    expect(modelOf('create_video')).toMatchObject({ default: 'videomodel-2.0' });
    for (const { inputSchema } of listed) expect(inputSchema.required ?? []).not.toContain('model');
    expect(countTokens(JSON.stringify(listed))).toBeLessThan(7_000);
  });

  it('name no more than eight models of a kind, and no tool that sells what the key cannot buy', () => {
    const [first] = models;
    const many = Array.from({ length: 9 }, (_, index) => ({ ...first!, sku: `text-${index}` }));
    const { tools: listed } = listBuyerTools(operations, many, { group: 'all', hasKey: true });
    const chat = listed.find(({ name }) => name === 'create_chat_completion');
    expect(chat?.inputSchema.properties?.['model']).toEqual({
      type: 'string',
      description: 'A chat SKU from list_models.',
      default: 'text-0',
    });
    const names = listed.map(({ name }) => name);
    expect(names).not.toContain('create_image');
    expect(names).not.toContain('create_video');
    expect(names).toContain('get_job');
  });

  it('say of every value one type, or alternatives of one type each, which every assistant and the Inspector take', () => {
    const { search } = readConfig({}, null);
    const sold = createOperations(search, { takesVideoWebhooks: true }, { isOn: true }).filter(isTool);
    const lists = [
      all,
      ...[true, false].map((hasKey) => listBuyerTools(sold, models, { group: 'all', hasKey }).tools),
    ];
    const vague = lists.flat().flatMap(({ name, inputSchema, outputSchema }) =>
      [inputSchema, ...(outputSchema === undefined ? [] : [outputSchema])]
        .flatMap(schemasIn)
        .filter(
          (schema) =>
            !isObject(schema) ||
            '$ref' in schema ||
            !(typeof schema['type'] === 'string' || 'anyOf' in schema || 'oneOf' in schema),
        )
        .map((schema) => [name, schema]),
    );
    expect(vague).toEqual([]);
  });

  it('say of create_image where the secret of its webhook is read', () => {
    const image = all.find(({ name }) => name === 'create_image');
    expect(image?.inputSchema.properties?.['webhook_url']).toMatchObject({
      description: expect.stringContaining('webhook_secret of GET /v1/balance'),
    });
  });

  it('tell that a tool reads only exactly where nothing is bought', () => {
    for (const { annotations, name } of all)
      expect([name, annotations?.readOnlyHint]).toEqual([name, !/^create_|^search_leads$/.test(name)]);
  });
});

describe.each(all)('the tool $name', (tool) => {
  const operation = operations.find(({ name }) => name === tool.name)!;
  const validator = new AjvJsonSchemaValidator();

  it('has a name in snake_case, a title, a description and explicit hints', () => {
    expect(tool.name).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(tool.name.length).toBeLessThanOrEqual(64);
    expect(tool.title).not.toBe('');
    expect(tool.description).not.toBe('');
    expect(tool.annotations).toEqual({
      readOnlyHint: expect.any(Boolean),
      destructiveHint: false,
      idempotentHint: expect.any(Boolean),
      openWorldHint: expect.any(Boolean),
    });
  });

  it('offers no member that is for REST only, and an idempotency key where something is bought', () => {
    const offered = Object.keys(tool.inputSchema.properties ?? {});
    for (const name of unlistedFields(operation)) expect(offered).not.toContain(name);
    expect(offered.includes('idempotency_key')).toBe(rulesOf(operation.sale).isPrepaid);
  });

  it('takes the fields of its call within the bounds that the interface description has', () => {
    const described = describedFields(tool.name);
    for (const [field, schema] of Object.entries(tool.inputSchema.properties ?? {})) {
      // Waiting is for tools alone: over REST a client asks again.
      if (field === 'wait_ms') continue;
      expect(Object.keys(described)).toContain(field);
      expect([field, ...boundsIn(schema)]).toEqual([field, ...boundsIn(described[field])]);
    }
  });

  it('refers to nothing outside of itself and says nothing empty', () => {
    for (const part of parts([tool.inputSchema, tool.outputSchema])) {
      expect(part).not.toHaveProperty('$ref');
      expect(part).not.toHaveProperty('$defs');
      expect(part['minimum']).not.toBe(Number.MIN_SAFE_INTEGER);
    }
  });

  it('has an output schema that every refusal passes, as v1 clients check those too', () => {
    const validate = validator.getValidator(tool.outputSchema ?? {});
    for (const code of Object.keys(errorTable).filter(isErrorCode)) {
      const error = new AppError(code, 'Not now.', { param: 'model', retryAfterSeconds: 5 });
      expect(validate(toErrorResult(error).structuredContent)).toMatchObject({ valid: true });
    }
  });
});

describe('the schema of search_leads', () => {
  it('has the largest limit that is configured', () => {
    expect(all[0]?.inputSchema.properties?.['limit']).toMatchObject({ maximum: 50, default: 20 });
  });

  it('takes 200 characters of words, and any most followers from 0 on', () => {
    const { query, max_followers: most } = all[0]?.inputSchema.properties ?? {};
    expect(query).toMatchObject({ type: 'string', maxLength: 200 });
    expect(most).toMatchObject({ type: 'integer', minimum: 0 });
    expect(most).not.toHaveProperty('maximum');
  });
});
