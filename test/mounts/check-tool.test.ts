import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/kit/json.ts';
import { checkTool, readToolName, findMisfits } from '../../src/mounts/check-tool.ts';
import { mountConfig, programTarget } from './mount-config.ts';

const schema = { type: 'object', properties: { a: { type: 'string' } } };
const check = (more: JsonObject) => checkTool({ name: 't', inputSchema: schema, ...more }, 't');

/** A schema so many levels deep. */
const nested = (levels: number): JsonObject =>
  levels === 0 ? { type: 'string' } : { type: 'object', properties: { a: nested(levels - 1) } };

describe('a tool of a mounted server', () => {
  it('has one pin, in whatever order its members come, and another for any other word', () => {
    const { pin } = check({ description: 'Reads.', title: 'Read' });
    expect(pin).toMatch(/^[0-9a-f]{64}$/);
    expect(check({ title: 'Read', description: 'Reads.' }).pin).toBe(pin);
    const others: JsonObject[] = [
      { title: 'Read', description: 'Reads all.' },
      { title: 'Reads', description: 'Reads.' },
      { title: 'Read', description: 'Reads.', annotations: { readOnlyHint: true } },
      { title: 'Read', description: 'Reads.', outputSchema: schema },
    ];
    for (const other of others) expect(check(other).pin).not.toBe(pin);
  });

  it('is not checked once more if the list before has it as it is', () => {
    const listed = { name: 't', inputSchema: schema };
    const known = check({});
    expect(checkTool(listed, 't', known)).toBe(known);
    expect(checkTool({ ...listed, title: 'T' }, 't', known)).toMatchObject({ definition: { title: 'T' } });
  });

  it('is not kept in memory by the check, when some more were checked', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage: () => void = runInNewContext('gc');
    const checkOne = (): WeakRef<object> => {
      const properties = { a: { type: 'string' } };
      expect(check({ inputSchema: { type: 'object', properties } }).problem).toBeNull();
      return new WeakRef(properties);
    };
    const checked = checkOne();
    for (let more = 0; more < 100; more += 1) check({});
    const isKept = (): boolean => {
      collectGarbage();
      return checked.deref() !== undefined;
    };
    await expect.poll(isKept).toBe(false);
  });

  it('keeps the known hints alone of its annotations, and nothing that a model does not read', () => {
    expect(
      check({ annotations: { readOnlyHint: true, title: 'x', other: 1 }, _meta: { ui: {} }, icons: [] })
        .definition,
    ).toEqual({ name: 't', inputSchema: schema, annotations: { readOnlyHint: true } });
  });

  it.each([
    ['a control character', { description: 'a\u0007b' }],
    ['a zero-width space', { title: 'a\u200bb' }],
    ['a reversal of text', { description: 'a\u202eb' }],
    ['a hidden tag', { description: 'a\u{e0041}b' }],
    ['a filler in a schema', { inputSchema: { ...schema, description: '\u3164' } }],
    ['half a character', { description: '\ud800' }],
  ])('is refused for %s', (_what, more) => {
    expect(check(more).problem).toMatch(/invisible/);
  });

  it('may have line breaks, tabs, emoji and other scripts', () => {
    expect(check({ description: 'Liest.\r\n\tÜber ⚠️ und 日本語' }).problem).toBeNull();
  });

  it.each([
    ['outside reference', { inputSchema: { ...schema, $ref: 'file:///etc/passwd' } }, /refers to another/],
    ['deep schema', { inputSchema: nested(20) }, /nested deeper/],
    ['large schema', { inputSchema: { ...schema, description: 'x'.repeat(70_000) } }, /longer than/],
    ['broken output schema', { outputSchema: { type: 'object', required: 'a' } }, /not valid/],
    ['schema of a text', { inputSchema: { type: 'string' } }, /no schema of an object/],
    ['description that is no text', { description: 1 }, /description/],
  ])('is refused for a %s', (_what, more, problem) => {
    expect(check(more as JsonObject).problem).toMatch(problem);
  });

  it('may refer within its own schema, whatever dialect that names', () => {
    const inputSchema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { a: { $ref: '#/$defs/b' } },
      $defs: { b: { type: 'string' } },
    };
    expect(check({ inputSchema }).problem).toBeNull();
  });

  it('has a name that models can call, together with that of its server', () => {
    const files = mountConfig('files', programTarget());
    expect(readToolName({ name: 'a_B-1' }, files)).toBe('a_B-1');
    for (const name of ['', 'a.b', 'a b', 'ä', 'x'.repeat(58), 1, null])
      expect(readToolName({ name }, files)).toBeNull();
  });

  it('is refused for schemas that are nested too deep to be written', () => {
    expect(check({ inputSchema: nested(5_000) })).toMatchObject({
      problem: 'Its schemas are nested deeper than 32 levels.',
    });
  });

  it('is judged without writing its references out, of which a short schema may have many', () => {
    const shared = { allOf: Array.from({ length: 500 }, () => ({ minLength: 1 })) };
    const allOf = Array.from({ length: 500 }, () => ({ $ref: '#/$defs/a' }));
    expect(check({ inputSchema: { type: 'object', $defs: { a: shared }, allOf } })).toMatchObject({
      problem: null,
    });
  });

  it.each([
    ['alternatives', { anyOf: Array.from({ length: 501 }, () => true) }],
    ['patterns', { patternProperties: Object.fromEntries(Array.from({ length: 501 }, (_, a) => [a, true])) }],
    ['names', { dependencies: { a: Array.from({ length: 501 }, String) } }],
  ])('is refused for a long list of %s, which would take seconds to compile', (_what, more) => {
    expect(check({ inputSchema: { type: 'object', ...more } }).problem).toBe(
      'A list in its schemas has more than 500 members.',
    );
  });

  it('may name many values', () => {
    const values = { enum: Array.from({ length: 2_000 }, (_, index) => String(index)) };
    expect(check({ inputSchema: { type: 'object', properties: { a: values } } }).problem).toBeNull();
  });

  it('is judged alike however deep its caller is', () => {
    const references = Array.from({ length: 499 }, () => ({ $ref: '#' }));
    const allOf = (levels: number): JsonObject[] =>
      levels === 0 ? references : [...references, { allOf: allOf(levels - 1) }];
    const inputSchema = { type: 'object', allOf: allOf(9) };
    const checkBelow = (frames: number): string | null =>
      frames === 0 ? check({ inputSchema }).problem : checkBelow(frames - 1);
    expect([checkBelow(0), checkBelow(2_000)]).toEqual([null, null]);
  });
});

describe('a value that is compared with a schema', () => {
  const tuple = (rules: object) => ({ type: 'object', properties: { p: { type: 'array', ...rules } } });
  const last = { prefixItems: [{ type: 'string' }], items: { type: 'number' } };
  const earlier = { items: [{ type: 'string' }], additionalItems: { type: 'number' } };

  it.each([
    ['a schema of 2020-12', { $schema: 'https://json-schema.org/draft/2020-12/schema', ...tuple(last) }],
    ['a schema of draft-07', { $schema: 'http://json-schema.org/draft-07/schema#', ...tuple(earlier) }],
    ['a schema of 2020-12 that does not say so', tuple(last)],
    ['an earlier schema that does not say so', tuple(earlier)],
  ])('fits %s as its dialect has it', (_what, schema) => {
    expect(findMisfits(schema, { p: ['a', 1, 2] })).toEqual([]);
    expect(findMisfits(schema, { p: [1] })).toMatchObject([{ instancePath: '/p/0' }]);
  });
});
