import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { readConfig } from '../../src/config/config.ts';
import { parseYaml } from '../../src/config/file-settings.ts';
import { describeSettings } from '../../src/config/settings-in-force.ts';
import type { Json } from '../../src/kit/json.ts';
import { allVariables } from '../../src/config/variables.ts';
import { x402SecretNames } from '../../src/payments/x402-settings.ts';

const describeGiven = (environment: Record<string, string>, yamlText: string | null = null) =>
  describeSettings({
    environment,
    sourceOf: () => 'environment',
    file: yamlText === null ? null : (parseYaml(yamlText) as Json),
  });

const rowOf = (settings: ReturnType<typeof describeGiven>['settings'], name: string) =>
  settings.find((setting) => setting.name === name);

/** A word that nothing else in the document has. */
const secretWord = fc.stringMatching(/^[A-Za-z0-9+=_-]{12,60}$/).map((word) => `zq${word}qz`);

/** Each run makes the schema of all settings. */
const numRuns = 20;

/** Names that sound secret; the declarations decide, and this holds them to it. */
const soundsSecret = /(?:_KEY|_SECRET|_TOKEN|_PASSWORD|SECRET_ACCESS_KEY)$/;

describe('the settings in force', () => {
  it('hide every secret that a declaration names, whatever it holds', () => {
    const names = Object.keys(allVariables).filter(
      (name) => soundsSecret.test(name) || x402SecretNames.includes(name),
    );
    expect(names).toEqual(
      expect.arrayContaining(['CAUSEWAY_API_KEY', 'S3_SECRET_ACCESS_KEY', ...x402SecretNames]),
    );
    fc.assert(
      fc.property(secretWord, fc.constantFrom(...names), (word, name) => {
        const described = describeGiven({ [name]: word });
        expect(JSON.stringify(described)).not.toContain(word);
        expect(rowOf(described.settings, name)).toMatchObject({ value: '(hidden)', secret: true });
      }),
      { numRuns },
    );
  });

  it('show no user, password or query of an address in any variable', () => {
    fc.assert(
      fc.property(
        secretWord,
        fc.constantFrom(...Object.keys(allVariables)),
        fc.constantFrom('postgres', 'redis', 'https', 's3'),
        (word, name, protocol) => {
          const address = `${protocol}://ann:${word}@db.internal:5432/place?key=${word}`;
          const { settings } = describeGiven({ [name]: address });
          expect(rowOf(settings, name)?.value).not.toContain(word);
        },
      ),
      { numRuns },
    );
  });

  it('show only where a node is, as its path may be a key', () => {
    fc.assert(
      fc.property(secretWord, (word) => {
        const { settings, file } = describeGiven(
          { X402_EVM_RPC_URL: `https://node.test/v2/${word}`, DATABASE_URL: `postgres://db:5432/${word}` },
          stringify({ x402: { networks: { 'eip155:8453': { rpc_url: `https://node.test/v2/${word}` } } } }),
        );
        expect(rowOf(settings, 'X402_EVM_RPC_URL')?.value).toBe('https://node.test/(hidden)');
        expect(rowOf(settings, 'DATABASE_URL')?.value).toBe('postgres://db:5432/(hidden)');
        expect(file).toEqual({
          x402: { networks: { 'eip155:8453': { rpc_url: 'https://node.test/(hidden)' } } },
        });
      }),
      { numRuns },
    );
  });

  it('show only where a collector is, as its path may be a token', () => {
    fc.assert(
      fc.property(secretWord, (word) => {
        const names = ['', 'TRACES_', 'METRICS_'].map((kind) => `OTEL_EXPORTER_OTLP_${kind}ENDPOINT`);
        const { settings } = describeGiven(
          Object.fromEntries(names.map((name) => [name, `https://otlp.test/${word}/v1`])),
        );
        for (const name of names)
          expect(rowOf(settings, name)).toMatchObject({ value: 'https://otlp.test/(hidden)', secret: true });
      }),
      { numRuns },
    );
  });

  it('hide what causeway.yaml sends to upstreams, and show the rest of it', () => {
    fc.assert(
      fc.property(secretWord, (word) => {
        const { file } = describeGiven(
          {},
          stringify({
            providers: { local: { type: 'openai', base_url: `http://u:${word}@10.0.0.7:9/v1?k=${word}` } },
            leads: {
              http: {
                url: `https://leads.test/find?token=${word}`,
                headers: { authorization: `Bearer ${word}` },
                parameters: { key: word, q: '{query}' },
                body: { deep: [word] },
                forget: { url: `https://leads.test/gone?token=${word}`, body: { token: word } },
              },
            },
          }),
        );
        expect(JSON.stringify(file)).not.toContain(word);
        expect(file).toMatchObject({
          providers: { local: { type: 'openai', base_url: 'http://(hidden)@10.0.0.7:9/v1?(hidden)' } },
          leads: {
            http: {
              url: 'https://leads.test/find?(hidden)',
              headers: { authorization: '(hidden)' },
              forget: { url: 'https://leads.test/gone?(hidden)', body: '(hidden)' },
            },
          },
        });
      }),
      { numRuns },
    );
  });

  it('tell the value and the source of every variable', async () => {
    const { settings, file } = await readConfig({ PORT: '9000', BRAND: '' }, null).describe();
    expect(settings.map(({ name }) => name)).toEqual(Object.keys(allVariables));
    expect(rowOf(settings, 'PORT')).toEqual({
      name: 'PORT',
      value: '9000',
      source: 'environment',
      secret: false,
    });
    expect(rowOf(settings, 'BRAND')).toMatchObject({ value: 'causeway', source: 'default' });
    expect(rowOf(settings, 'REDIS_URL')).toMatchObject({ value: null, source: null, secret: true });
    expect(file).toBeNull();
  });

  it('describe members that no schema knows as hidden', () => {
    const { file } = describeGiven({}, 'elsewhere: { deep: secret-thing }');
    expect(z.json().parse(file)).toEqual({ elsewhere: '(hidden)' });
  });
});
