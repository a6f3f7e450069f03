import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { makeFileSchema } from '../../scripts/file-schema.ts';
import { readFileSettings } from '../../src/config/file-settings.ts';

const text = readFileSync('causeway.schema.json', 'utf8');
const validate = new Ajv({ allowUnionTypes: true, formats: { uri: URL.canParse } }).compile(JSON.parse(text));

/** A whole file of settings, or the examples in a document. */
const examplesIn = (file: string): string[] => {
  const content = readFileSync(file, 'utf8');
  return file.endsWith('.yaml')
    ? [content]
    : [...content.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, example = '']) => example);
};

it('is what the settings make (npm run docs:settings writes it)', () => {
  expect(text).toBe(makeFileSchema());
});

it.each(['deploy/causeway.example.yaml', 'docs/configuration.md', 'docs/quickstart.md'])(
  'accepts the examples of %s',
  (file) => {
    const examples = examplesIn(file);
    expect(examples).not.toEqual([]);
    for (const example of examples) {
      validate(parse(example));
      expect(validate.errors).toBeNull();
      expect(readFileSettings(example)).toBeDefined();
    }
  },
);

describe('refuses, as the start does,', () => {
  const model = (price: string): string =>
    `models: { sku: { kind: image, price: ${price}, routes: [{ provider: sandbox }] } }`;

  it.each([
    ['an unknown section', 'modles: {}', 'modles'],
    ['an unknown key', 'moderation: { provider: local, model: any, modle: any }', 'modle'],
    ['an unknown type of provider', 'providers: { local: { type: nonsense } }', 'local'],
    ['a provider without its address', 'providers: { local: { type: openai } }', 'base_url'],
    ['an address that is none', 'providers: { local: { type: openai, base_url: here } }', 'base_url'],
    ['a model without a price', 'models: { sku: { kind: image, routes: [{ provider: sandbox }] } }', 'price'],
    ['an unknown unit', model('{ unit: nonsense, price_usd: 1 }'), 'price'],
    ['a number out of bounds', 'leads: { http: { url: https://x.example, max_rows: 0 } }', 'max_rows'],
  ])('%s', (_, yaml, named) => {
    expect(() => readFileSettings(yaml)).toThrow(named);
    expect(validate(parse(yaml))).toBe(false);
    expect(JSON.stringify(validate.errors)).toContain(named);
  });

  it('and accepts the file without the mistake', () => {
    const yaml = model('{ unit: call, price_usd: 1 }');
    expect(readFileSettings(yaml).models).toBeDefined();
    expect(validate(parse(yaml))).toBe(true);
  });
});
