import { z } from 'zod';

export type JsonSchema = {
  [key: string]: unknown;
  properties?: Record<string, JsonSchema>;
  required?: string[];
};

/** The document's `components.schemas`, filled while its operations are written. */
export interface SchemaBook {
  /** Adds a schema under a name and answers a reference to it. The same name twice must be the same schema. */
  add(name: string, schema: object): { $ref: string };
  /** A zod schema as JSON Schema that can stand anywhere in the document; its definitions become components. */
  convert(schema: z.ZodType, place: { io: 'input' | 'output'; name: string }): JsonSchema;
  /** A foreign JSON Schema, made to stand anywhere in the document like a converted one. */
  lift(schema: object, name: string): JsonSchema;
  all(): Record<string, object>;
}

export const reference = (name: string): { $ref: string } => ({ $ref: `#/components/schemas/${name}` });

export const createSchemaBook = (): SchemaBook => {
  const schemas = new Map<string, object>();

  /**
   * `$defs` become components, `<name><definition>`, and references to them, or to places within the schema itself,
   * are made to point there. Draft 4's boolean `exclusiveMinimum` becomes a number; the bounds of JavaScript's own
   * integers say nothing to readers and go.
   */
  const lift = (schema: object, name: string): JsonSchema => {
    const names = new Map<string, string>();
    const rename = (target: string): string =>
      target.startsWith('#/$defs/')
        ? `#/components/schemas/${names.get(target.slice('#/$defs/'.length)) ?? ''}`
        : target.replace(/^#(?=\/|$)/, `#/components/schemas/${name}`);
    const rewrite = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(rewrite);
      if (typeof value !== 'object' || value === null) return value;
      const { $defs, ...rest } = value as JsonSchema;
      const definitions = Object.entries(isObject($defs) ? $defs : {});
      for (const [key, definition] of definitions)
        names.set(key, isAnyJson(definition, key) ? 'Json' : `${name}${key.replaceAll('_', '')}`);
      for (const [key, definition] of definitions)
        schemas.set(names.get(key) ?? key, rewrite(definition) as object);
      const { minimum, exclusiveMinimum } = rest;
      if (exclusiveMinimum === true) {
        delete rest['minimum'];
        rest['exclusiveMinimum'] = minimum;
      }
      if (minimum === Number.MIN_SAFE_INTEGER) delete rest['minimum'];
      if (rest['maximum'] === Number.MAX_SAFE_INTEGER) delete rest['maximum'];
      return Object.fromEntries(
        Object.entries(rest).map(([key, member]) => [
          key,
          key === '$ref' && typeof member === 'string' ? rename(member) : rewrite(member),
        ]),
      );
    };
    return rewrite(schema) as JsonSchema;
  };

  return {
    lift,
    add: (name, schema) => {
      schemas.set(name, schema);
      return reference(name);
    },
    convert: (schema, { io, name }) => {
      const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
      return lift(rest, name);
    },
    all: () => Object.fromEntries([...schemas.entries()].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** Whether a definition is zod's "any JSON value", which several schemas carry along: one component is enough. */
const isAnyJson = (definition: unknown, key: string): boolean =>
  isObject(definition) &&
  Array.isArray(definition['anyOf']) &&
  definition['anyOf'].length === 6 &&
  JSON.stringify(definition).split(`"#/$defs/${key}"`).length === 3;
