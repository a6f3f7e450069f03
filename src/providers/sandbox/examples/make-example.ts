import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { generateSync, type JsonSchema } from 'json-schema-faker';
import type { Json } from '../../../kit/json.ts';
import { limitSchema } from './limit-schema.ts';

const attempts = [
  { seed: 1, alwaysFakeOptionals: true },
  { seed: 1, alwaysFakeOptionals: false },
  { seed: 2, alwaysFakeOptionals: false },
  { seed: 3, alwaysFakeOptionals: false },
];

/**
 * A value that is valid under `schema`; the same schema has the same one. Throws when none is found. Only
 * for a worker thread: a hostile schema can take any time.
 */
export const makeExample = (schema: Json): unknown => {
  const plain = withoutDialect(schema);
  if (!isSchema(plain)) throw new TypeError('a schema is an object or a boolean');
  const small = limitSchema(plain);
  if (!isSchema(small)) throw new TypeError('a schema is an object or a boolean');
  const isValid = compile(plain);
  let lastError: unknown = new Error('no generated value is valid');
  for (const attempt of attempts) {
    try {
      const example = generateSync(small, {
        ...attempt,
        refDepthMax: 3,
        maxDefaultItems: 3,
        useExamplesValue: true,
      });
      if (isValid(example)) return example;
    } catch (error) {
      lastError = error;
    }
  }
  throw lastError;
};

/** By JSON Schema 2020-12, or by draft 7 for what only that knows. Formats are not checked. */
const compile = (schema: JsonSchema): ValidateFunction => {
  // Without the meta-schemas, which would be compiled anew each time.
  const settings = {
    strict: false,
    validateFormats: false,
    logger: false,
    meta: false,
    validateSchema: false,
  } as const;
  try {
    return new Ajv2020(settings).compile(schema);
  } catch {
    return new Ajv(settings).compile(schema);
  }
};

const isSchema = (value: Json): value is JsonSchema & Json =>
  typeof value === 'boolean' || (value !== null && typeof value === 'object' && !Array.isArray(value));

/** The name of the dialect would make the validator look for a meta-schema that it may not have. */
const withoutDialect = (schema: Json): Json => {
  if (schema === null || typeof schema !== 'object' || Array.isArray(schema)) return schema;
  const { $schema: _dialect, ...rest } = schema;
  return rest;
};
