import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../src/kit/json.ts';
import { createExampleMaker } from '../../../src/providers/sandbox/sandbox-text.ts';
import { noAbort, rejectionOf } from '../collect.ts';

const examples = createExampleMaker();
afterAll(() => examples.close());

const make = (schema: Json): Promise<string> => examples.make(schema, noAbort());

const isValid = (schema: JsonObject, value: unknown): boolean =>
  new Ajv2020({ strict: false, validateFormats: false, logger: false }).validate(schema, value);

/** Schemas as people write them for tools and structured answers. */
const schemas = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof<fc.Arbitrary<JsonObject>[]>(
    { maxDepth: 3, withCrossShrink: true },
    fc.record({
      type: fc.constant('string'),
      minLength: fc.nat({ max: 5 }),
      maxLength: fc.integer({ min: 5, max: 40 }),
    }),
    fc.record({
      type: fc.constant('string'),
      format: fc.constantFrom('date-time', 'email', 'uri', 'uuid', 'unknown'),
    }),
    fc.record({
      type: fc.constant('string'),
      pattern: fc.constantFrom('^[a-z]{3}$', '^\\d{4}-\\d{2}$', '^(yes|no)$'),
    }),
    fc.record({
      type: fc.constant('integer'),
      minimum: fc.integer({ min: -9, max: 0 }),
      maximum: fc.integer({ min: 1, max: 9 }),
    }),
    fc.record({ type: fc.constant('number') }),
    fc.record({ type: fc.constant('boolean') }),
    fc.record({ type: fc.constant(['string', 'null']) }),
    fc.record({ enum: fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 4 }) }),
    fc.record({ const: fc.oneof(fc.string(), fc.integer(), fc.boolean()) }),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
    fc.record({
      type: fc.constant('array'),
      items: tie('schema'),
      minItems: fc.nat({ max: 2 }),
      maxItems: fc.integer({ min: 2, max: 9 }),
    }),
    fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), tie('schema'), { maxKeys: 4 }).map((properties) => ({
      type: 'object',
      properties,
      required: Object.keys(properties),
      additionalProperties: false,
    })),
  ),
})).schema;

describe('an example of a JSON schema', () => {
  it('is valid for the schemas of tools', async () => {
    await fc.assert(
      fc.asyncProperty(schemas, async (schema) => {
        expect(isValid(schema, JSON.parse(await make(schema)))).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  it('is always the same', async () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'number' } },
      required: ['a'],
    };
    expect(await make(schema)).toBe(await make(schema));
  });

  it('exists for schemas with definitions, recursion and older dialects', async () => {
    const tree = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { value: { type: 'integer' }, children: { type: 'array', items: { $ref: '#' } } },
      required: ['value', 'children'],
    };
    const withDefinitions = {
      $defs: { id: { type: 'string', pattern: '^[A-Z]{2}\\d{3}$' } },
      type: 'object',
      properties: { id: { $ref: '#/$defs/id' }, maxItems: { type: 'integer' }, template: { type: 'string' } },
      required: ['id', 'maxItems', 'template'],
    };
    expect(JSON.parse(await make(tree))).toHaveProperty('value');
    expect(isValid(withDefinitions, JSON.parse(await make(withDefinitions)))).toBe(true);
    expect(await make({ type: 'array', items: [{ const: 1 }, { const: 2 }], minItems: 2, maxItems: 2 })).toBe(
      '[1,2]',
    );
  });

  it.each<[string, JsonObject]>([
    ['a constant that looks like a schema', { const: { items: [1, 2], minItems: 100, template: 'x' } }],
    ['choices that look like schemas', { enum: [{ minItems: 100 }] }],
    ['very many choices', { enum: Array.from({ length: 10_500 }, (_, index) => `choice ${index}`) }],
    ['a default that looks like a schema', { type: 'object', default: { maxLength: 9_000 } }],
    ['an example that looks like a schema', { type: 'object', examples: [{ minLength: 9_000 }] }],
  ])('leaves data alone: %s', async (_name, schema) => {
    expect(isValid(schema, JSON.parse(await make(schema)))).toBe(true);
  });

  it('obeys no keyword that only its generator knows', async () => {
    const integers = (extra: JsonObject, more: JsonObject): JsonObject => ({
      type: 'object',
      properties: { a: { type: 'integer', ...extra }, b: { type: 'integer', ...more } },
      required: ['a', 'b'],
    });
    const extended = integers(
      { autoIncrement: true, jsonPath: '$.b' },
      { template: '#{a}', faker: 'unknown' },
    );
    expect(await make(extended)).toBe(await make(integers({}, {})));
  });

  it.each<[string, Json]>([
    ['demands very many items', { type: 'array', items: {}, minItems: 200_000 }],
    ['demands a very long string', { type: 'string', minLength: 10_000_000 }],
    ['contradicts itself', { allOf: [{ type: 'string' }, { type: 'number' }] }],
    ['points nowhere', { $ref: 'https://example.invalid/schema.json' }],
    ['is no schema', 7],
    ['is very large', { anyOf: Array.from({ length: 6_000 }, (_, index) => ({ const: index })) }],
    ['has a pattern without measure', { type: 'string', pattern: '^(a{1000}){1000}{1000}$' }],
  ])('does not exist when the schema %s', async (_name, schema) => {
    expect(await rejectionOf(make(schema))).toMatchObject({ failure: 'fatal', code: 'invalid_parameter' });
  });

  it('is given up when a hostile pattern takes for ever, and the next one is made', async () => {
    const hostile = { const: `${'a'.repeat(64)}!`, pattern: '^(a+)+$' };
    expect(await rejectionOf(make(hostile))).toMatchObject({ failure: 'fatal', code: 'invalid_parameter' });
    expect(await make({ const: 1 })).toBe('1');
  });
});
