import { describe, expect, it } from 'vitest';
import { readConfig } from '../src/config.ts';
import { ConfigError } from '../src/errors.ts';

const yaml = (text: string): string => text;

describe('a gateway with nothing configured', () => {
  it('listens on 127.0.0.1:8402, keeps state in ./data and serves every SKU by the sandbox', () => {
    const config = readConfig({}, null);
    expect(config).toMatchObject({ host: '127.0.0.1', port: 8402, dataDir: './data', databaseUrl: null });
    expect(config.models.map(({ sku }) => sku)).toContain('textmodel-3.5-flash');
    expect(config.models.flatMap(({ routes }) => routes.map(({ provider }) => provider))).toEqual(
      config.models.map(() => 'sandbox'),
    );
  });

  it('offers the two test networks through the public test facilitator', () => {
    const { networks } = readConfig({}, null).x402;
    expect(networks.map(({ network }) => network)).toEqual([
      'eip155:84532',
      'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
    ]);
    expect(networks.every(({ facilitator, payTo }) => facilitator.kind === 'remote' && payTo === null)).toBe(
      true,
    );
  });

  it('takes an empty variable for an unset one', () => {
    expect(readConfig({ PORT: '' }, '').port).toBe(8402);
  });
});

describe('a wrong setting', () => {
  it.each<[Record<string, string>, RegExp]>([
    [{ PORT: 'http' }, /^PORT: must be a whole number$/],
    [{ PORT: '70000' }, /^PORT: /],
    [{ DATABASE_URL: 'mysql://x' }, /^DATABASE_URL: must be a postgres:\/\/ URL$/],
    [{ BRAND: 'Two Words' }, /^BRAND: /],
    [{ SEARCH_PRICING: 'free' }, /^SEARCH_PRICING: /],
    [{ X402_NETWORKS: 'base' }, /^X402_NETWORKS/],
    [{ X402_NETWORKS: 'eip155:8453' }, /^X402_EVM_PAY_TO: /],
    [{ X402_NETWORKS: 'eip155:8453', X402_EVM_PAY_TO: `0x${'1'.repeat(40)}` }, /^X402_FACILITATOR_URL: /],
    [{ X402_EVM_FACILITATOR_KEY: `0x${'1'.repeat(64)}` }, /^X402_EVM_RPC_URL: /],
  ])('%j is one line that names it', (env, line) => {
    const read = () => readConfig(env, null);
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(line);
    try {
      read();
    } catch (error) {
      expect(String(error)).not.toContain('\n');
    }
  });

  it.each([
    ['models: [', /^causeway\.yaml: /],
    ['modles: {}', /^causeway\.yaml: /],
    ['models: { a: { kind: chat, routes: [{ provider: sandbox }] } }', /^causeway\.yaml: models\.a\.price/],
    [
      'models: { a: { kind: image, price: { unit: token, input_usd_per_1m: 1, output_usd_per_1m: 1 }, routes: [{ provider: sandbox }] } }',
      /^causeway\.yaml: models\.a\.price\.unit/,
    ],
    [
      'models: { a: { kind: image, price: { unit: call, price_usd: "0.1" }, routes: [{ provider: nobody }] } }',
      /there is no provider "nobody"/,
    ],
    [
      'providers: { up: { type: openai, base_url: "http://127.0.0.1:1/v1", api_key_env: UP_KEY } }',
      /the environment variable UP_KEY is not set/,
    ],
  ])('%j in the file is one line that names it', (text, line) => {
    expect(() => readConfig({}, yaml(text))).toThrow(line);
  });
});

describe('causeway.yaml', () => {
  it('replaces the list of SKUs and routes them to an OpenAI-compatible provider', () => {
    const config = readConfig(
      { UP_KEY: 'secret' },
      yaml(`
providers: { up: { type: openai, base_url: "http://127.0.0.1:9/v1/", api_key_env: UP_KEY, idle_ms: 5 } }
models:
  mine: { kind: chat, price: { unit: token, input_usd_per_1m: 0.5, output_usd_per_1m: "1.50" }, routes: [{ provider: up, model: llama }, { provider: sandbox }] }
`),
    );
    expect(config.models).toHaveLength(1);
    expect(config.models[0]?.routes).toEqual([
      { provider: 'up', model: 'llama' },
      { provider: 'sandbox', model: 'mine' },
    ]);
    expect(config.providers['up']).toMatchObject({
      type: 'openai',
      baseUrl: 'http://127.0.0.1:9/v1',
      apiKey: 'secret',
    });
  });
});
