import * as fc from 'fast-check';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { outlineSchema, simplifySchema, type JsonSchema } from '../../src/mcp/tool-schemas.ts';

const schema = z.looseObject({
  text: z.string().max(5).nullish(),
  count: z.int().optional(),
  small: z.int().min(0).max(9).nullish(),
  either: z.union([z.string(), z.array(z.string())]).nullish(),
  free: z.record(z.string(), z.json()).nullish(),
  numbers: z.record(z.string(), z.int()).optional(),
  parts: z
    .array(
      z.discriminatedUnion('type', [
        z.object({ type: z.literal('a'), value: z.int() }),
        z.object({ type: z.literal('b'), value: z.string().nullable() }),
      ]),
    )
    .optional(),
});

const written = (io: 'input' | 'output'): JsonSchema =>
  JSON.parse(JSON.stringify(z.toJSONSchema(schema, { io })));
const accepts = (jsonSchema: JsonSchema) => new Ajv2020({ strict: false }).compile(jsonSchema);

const arbitraryDocument = fc.record(
  {
    text: fc.oneof(fc.string({ maxLength: 7 }), fc.constant(null), fc.integer()),
    // Safe integers: beyond them the written schema refuses what the simplified one leaves to zod.
    count: fc.oneof(fc.maxSafeInteger(), fc.double({ min: -1e6, max: 1e6 })),
    small: fc.oneof(fc.integer({ min: -2, max: 12 }), fc.constant(null)),
    either: fc.oneof(fc.string(), fc.array(fc.string()), fc.integer(), fc.constant(null)),
    free: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), fc.constant(null)),
    numbers: fc.dictionary(fc.string(), fc.oneof(fc.integer(), fc.string())),
    parts: fc.array(
      fc.record({
        type: fc.constantFrom('a', 'b', 'c'),
        value: fc.oneof(fc.integer(), fc.string(), fc.constant(null)),
      }),
      { maxLength: 3 },
    ),
    other: fc.jsonValue(),
  },
  { requiredKeys: [] },
);

describe('a simplified schema', () => {
  it('accepts for output what the written one accepts, and nothing else', () => {
    const before = accepts(written('output'));
    const after = accepts(simplifySchema(written('output'), 'output'));
    fc.assert(
      fc.property(arbitraryDocument, (document) => {
        expect(after(document)).toBe(before(document));
      }),
      { numRuns: 2_000 },
    );
  });

  it('accepts as an outline all that the written one accepts, and no members of another type', () => {
    const before = accepts(written('output'));
    const after = accepts(
      outlineSchema(simplifySchema(written('output'), 'output'), ['required', 'maxLength']),
    );
    fc.assert(
      fc.property(arbitraryDocument, (document) => {
        expect(after(document) || !before(document)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    expect(after({ numbers: { one: 'two' } })).toBe(false);
    expect(after({ text: 5 })).toBe(false);
    expect(after({ parts: [{ type: 'a', value: 'b' }] })).toBe(false);
    expect([before({ text: 'longer' }), after({ text: 'longer' })]).toEqual([false, true]);
    expect([before({ parts: [{ type: 'a' }] }), after({ parts: [{ type: 'a' }] })]).toEqual([false, true]);
  });

  it('differs for input only in null, which means the same as absence', () => {
    const before = accepts(written('input'));
    const after = accepts(simplifySchema(written('input'), 'input'));
    const hasNull = (document: object): boolean => JSON.stringify(document).includes('null');
    fc.assert(
      fc.property(arbitraryDocument, (document) => {
        if (!hasNull(document)) expect(after(document)).toBe(before(document));
        else if (after(document)) expect(before(document)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is written without references, empty words and nested unions', () => {
    expect(simplifySchema(written('input'), 'input')).toEqual({
      type: 'object',
      properties: {
        text: { type: 'string', maxLength: 5 },
        count: { type: 'integer' },
        small: { type: 'integer', minimum: 0, maximum: 9 },
        either: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
        free: { type: 'object' },
        numbers: { type: 'object', additionalProperties: { type: 'integer' } },
        parts: {
          type: 'array',
          items: {
            oneOf: [
              {
                type: 'object',
                properties: { type: { type: 'string', const: 'a' }, value: { type: 'integer' } },
                required: ['type', 'value'],
              },
              {
                type: 'object',
                properties: { type: { type: 'string', const: 'b' }, value: { type: 'string' } },
                required: ['type', 'value'],
              },
            ],
          },
        },
      },
    });
  });
});
