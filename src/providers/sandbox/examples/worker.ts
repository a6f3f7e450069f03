import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { generateSync, type JsonSchema } from 'json-schema-faker';
import type { Json } from '../../../kit/json.ts';
import { serveCalls } from '../../../kit/threads/serve-calls.ts';
import { limitSchema } from './limit-schema.ts';

const attempts = [
  { seed: 1, alwaysFakeOptionals: true },
  { seed: 1, alwaysFakeOptionals: false },
  { seed: 2, alwaysFakeOptionals: false },
  { seed: 3, alwaysFakeOptionals: false },
];

/**
 * Makes a value that is valid under `schema`, the same for the same schema. Throws when none is found. It runs in a
 * thread, because a hostile schema can take any time.
 */
const makeExample = (schema: Json): unknown => {
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

/** Compiles by JSON Schema 2020-12, or by draft 7 when that fails. Formats are not checked. */
const compile = (schema: JsonSchema): ValidateFunction => {
  // The meta-schemas are left out, because they would be compiled each time.
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

/** Removes the name of the dialect, for which the validator might lack a meta-schema. */
const withoutDialect = (schema: Json): Json => {
  if (schema === null || typeof schema !== 'object' || Array.isArray(schema)) return schema;
  const { $schema: _dialect, ...rest } = schema;
  return rest;
};

serveCalls((schema: Json): string => JSON.stringify(makeExample(schema)));
