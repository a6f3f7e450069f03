import { z } from 'zod';
import { opaqueMark, restMark, unlistedMark } from '../../operations/schema-marks.ts';

export type JsonSchema = {
  [key: string]: unknown;
  properties?: Record<string, JsonSchema>;
  required?: string[];
};

export type SchemaRegistry = ReturnType<typeof createSchemaRegistry>;

export const reference = (name: string): { $ref: string } => ({ $ref: `#/components/schemas/${name}` });

/**
 * Collects the document's `components.schemas`. `named`: the answers and events by their zod schemas. Other schemas that contain one of them refer to it.
 */
export const createSchemaRegistry = (named: ReadonlyMap<z.ZodType, string>) => {
  const schemas = new Map<string, object>();
  const names = new Map<unknown, string>(named);

  /**
   * Turns `$defs` into components, `<name><definition>`, and makes references to them, or to places within the schema
   * itself, point there. Draft 4's boolean `exclusiveMinimum` becomes a number; the bounds of JavaScript's own
   * integers say nothing to readers and go.
   */
  const lift = (schema: object, name: string): JsonSchema => {
    const definitionNames = new Map<string, string>();
    const rename = (target: string): string =>
      target.startsWith('#/$defs/')
        ? `#/components/schemas/${definitionNames.get(target.slice('#/$defs/'.length)) ?? ''}`
        : target.replace(/^#(?=\/(?!components\/)|$)/, `#/components/schemas/${name}`);
    const rewrite = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(rewrite);
      if (typeof value !== 'object' || value === null) return value;
      const { $defs, [restMark]: words, ...rest } = value as JsonSchema;
      const definitions = Object.entries(isObject($defs) ? $defs : {});
      for (const [key, definition] of definitions)
        definitionNames.set(key, isAnyJson(definition, key) ? 'Json' : `${name}${key.replaceAll('_', '')}`);
      for (const [key, definition] of definitions)
        schemas.set(definitionNames.get(key) ?? key, rewrite(definition) as object);
      const { minimum, exclusiveMinimum } = rest;
      if (exclusiveMinimum === true) {
        delete rest['minimum'];
        rest['exclusiveMinimum'] = minimum;
      }
      if (minimum === Number.MIN_SAFE_INTEGER) delete rest['minimum'];
      if (rest['maximum'] === Number.MAX_SAFE_INTEGER) delete rest['maximum'];
      delete rest[unlistedMark];
      delete rest[opaqueMark];
      return Object.fromEntries(
        Object.entries({ ...rest, ...(isObject(words) ? words : {}) }).map(([key, member]) => [
          key,
          key === '$ref' && typeof member === 'string' ? rename(member) : rewrite(member),
        ]),
      );
    };
    return rewrite(schema) as JsonSchema;
  };

  const convert = (schema: z.ZodType, io: 'input' | 'output', name: string): JsonSchema => {
    const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        const known = names.get(zodSchema);
        if (known === undefined || known === name) return;
        for (const word of Object.keys(jsonSchema)) delete jsonSchema[word];
        Object.assign(jsonSchema, reference(known));
      },
    });
    return lift(rest, name);
  };

  for (const [schema, name] of named) schemas.set(name, convert(schema, 'output', name));

  return {
    /** Rewrites a foreign JSON Schema, so that it can stand anywhere in the document. */
    lift,
    /** Adds a schema under a name and returns a reference to it. The same name twice must be the same schema. */
    add: (name: string, schema: object): { $ref: string } => {
      schemas.set(name, schema);
      return reference(name);
    },
    /** Converts what an operation takes to JSON Schema that can stand anywhere in the document. */
    convertInput: (schema: z.ZodType, name: string): JsonSchema => convert(schema, 'input', name),
    all: (): Record<string, object> =>
      Object.fromEntries([...schemas.entries()].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
};

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** Returns whether a definition is zod's "any JSON value". Many schemas have it, and one component serves them all. */
const isAnyJson = (definition: unknown, key: string): boolean =>
  isObject(definition) &&
  Array.isArray(definition['anyOf']) &&
  definition['anyOf'].length === 6 &&
  JSON.stringify(definition).split(`"#/$defs/${key}"`).length === 3;
