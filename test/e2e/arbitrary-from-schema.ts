import fc from 'fast-check';

type Schema = Record<string, unknown>;

/** A 1x1 PNG, so that some inputs are what they should be. */
const tinyPng =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const words = [
  'hello',
  'a',
  '',
  'textmodel-3.5-flash',
  'imagemodel-1.0',
  'videomodel-2.0',
  'videomodel-2.5',
  'auto',
  'url',
  'https',
  '1024x768',
  '2026-01-01T00:00:00Z',
  '\u0000\ud800 lone',
  '{"a":1}',
  tinyPng,
  'data:image/png;base64,AAAA',
  'data:image/svg+xml;base64,PHN2Zy8+',
  'https://127.0.0.1/x.png',
  'http://localhost/x.png',
  'https://[::1]/',
  'ftp://example.com',
  'resp_00000000-0000-4000-8000-000000000000',
];

/** Members whose every other value is refused at once, so that more of a request is looked at. */
const wellKnown: Record<string, readonly string[]> = {
  model: ['textmodel-3.5-flash', 'imagemodel-1.0', 'videomodel-2.0', 'videomodel-2.5'],
};

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const strings = (schema: Schema): fc.Arbitrary<unknown> => {
  const low = Number(schema['minLength'] ?? 0);
  const high = Number(schema['maxLength'] ?? 1_000);
  const pattern = typeof schema['pattern'] === 'string' ? new RegExp(schema['pattern'], 'i') : /(?:)/;
  const fitting = words.filter((word) => word.length >= low && word.length <= high && pattern.test(word));
  const free = fc.string({ minLength: low, maxLength: Math.min(high, low + 30), unit: 'binary' });
  return fitting.length === 0 ? free : fc.oneof(fc.constantFrom(...fitting), free);
};

const numbers = (schema: Schema): fc.Arbitrary<unknown> => {
  const low = Math.max(Number(schema['minimum'] ?? -5), -1_000_000);
  const high = Math.min(Number(schema['maximum'] ?? 100), 1_000_000);
  return fc.oneof(fc.integer({ min: low, max: Math.max(low, high) }), fc.constantFrom(low, high));
};

const objects = (schema: Schema, depth: number): fc.Arbitrary<unknown> => {
  const properties = isSchema(schema['properties']) ? schema['properties'] : {};
  const required = new Set(Array.isArray(schema['required']) ? schema['required'].map(String) : []);
  const extra = isSchema(schema['additionalProperties']) ? 2 : 0;
  const members = Object.entries(properties).filter(([, member]) => !isSchema(member) || !('not' in member));
  return fc
    .tuple(
      ...members.map(([name, member]) => {
        const known = wellKnown[name];
        const value = known === undefined ? validFrom(member, depth + 1) : fc.constantFrom(...known);
        // Optional members are mostly left out: each is one more reason to be refused.
        return required.has(name)
          ? value
          : fc.oneof({ weight: 7, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
      }),
      fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: extra }),
    )
    .map((values) => {
      const chosen = members.map(([name], index) => [name, values[index]] as const);
      return {
        ...(values.at(-1) as object),
        ...Object.fromEntries(chosen.filter(([, value]) => value !== undefined)),
      };
    });
};

const validFrom = (schema: unknown, depth: number): fc.Arbitrary<unknown> => {
  if (!isSchema(schema) || depth > 7) return fc.jsonValue({ maxDepth: 1 });
  if ('const' in schema) return fc.constant(schema['const']);
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...schema['enum']);
  for (const choice of ['anyOf', 'oneOf', 'allOf'])
    if (Array.isArray(schema[choice]))
      return fc.oneof(...schema[choice].map((branch) => validFrom(branch, depth + 1)));
  switch (schema['type']) {
    case 'string':
      return strings(schema);
    case 'integer':
    case 'number':
      return numbers(schema);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(validFrom(schema['items'], depth + 1), {
        minLength: Math.min(Number(schema['minItems'] ?? 0), 2),
        maxLength: 3,
      });
    case 'object':
      return objects(schema, depth);
    default:
      return fc.jsonValue({ maxDepth: 1 });
  }
};

/** Puts `put` in the place that `steps` lead to, each step choosing among the members of what it stands at. */
const replaced = (value: unknown, steps: readonly number[], put: unknown): unknown => {
  const [step, ...rest] = steps;
  if (step === undefined || typeof value !== 'object' || value === null) return put;
  const names = Object.keys(value);
  const name = names[step % Math.max(names.length, 1)];
  if (name === undefined) return put;
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (String(index) === name ? replaced(item, rest, put) : item));
  const member = replaced((value as Schema)[name], rest, put);
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, kept]) =>
      key !== name ? [[key, kept]] : member === undefined ? [] : [[key, member]],
    ),
  );
};

/** Values that a JSON Schema describes, and as many with one place gone wrong: another kind, out of bounds, or missing. */
export const arbitraryFrom = (schema: unknown): fc.Arbitrary<unknown> => {
  const valid = validFrom(schema, 0);
  const wrong = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom(undefined, null, '', -1, 1.5, 1e308, [], {}, ...words),
    fc.string({ unit: 'binary', maxLength: 300 }),
  );
  const steps = fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 5 });
  return fc.oneof(
    valid,
    fc.tuple(valid, steps, wrong).map(([value, way, put]) => replaced(value, way, put)),
  );
};
