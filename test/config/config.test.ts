import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { ConfigError } from '../../src/kit/errors.ts';

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

describe('the output limit of a SKU', () => {
  const sku = (kind: string, more: string): string =>
    `models: { sold: { kind: ${kind}, price: { unit: call, price_usd: 1 }, ${more} routes: [{ provider: sandbox }] } }`;

  it('is that of the file, and else unknown', () => {
    const limitOf = (text: string | null) => readConfig({}, text).models[0]?.maxOutputTokens;
    expect([null, sku('chat', ''), sku('chat', 'max_output_tokens: 65536,')].map(limitOf)).toEqual([
      null,
      null,
      65_536,
    ]);
  });

  it.each([
    ['chat', 0],
    ['chat', 65_537],
    ['image', 100],
  ])('of a %s SKU cannot be %i', (kind, limit) => {
    const text = sku(kind, `max_output_tokens: ${limit},`);
    expect(() => readConfig({}, text)).toThrow(/^causeway\.yaml: models\.sold\.max_output_tokens: /);
  });
});

const s3Keys = { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret' };

describe('the limits', () => {
  it('are as documented without settings', () => {
    expect(readConfig({}, null)).toMatchObject({
      requestsPerMinute: 600,
      mediaRetentionMs: 30 * 86_400_000,
      activeVideos: 5,
      videoJobsAtOnce: 64,
      responsesMaxBytes: 4_194_304,
      bodyMemoryBytes: 268_435_456,
      acceptsWebhooks: true,
      allowsLoopbackUrls: false,
      mediaDir: null,
      s3: null,
    });
  });

  it('are each read from their own setting, up to and with their bounds', () => {
    expect(
      readConfig(
        {
          REQUESTS_PER_MINUTE: '1000000',
          ACTIVE_VIDEOS: '10000',
          VIDEO_JOBS_AT_ONCE: '2',
          RESPONSES_MAX_BYTES: '1024',
          BODY_MEMORY_BYTES: '1048576',
          WEBHOOKS: 'off',
          ALLOW_LOOPBACK_URLS: 'true',
          MEDIA_DIR: '/media',
        },
        null,
      ),
    ).toMatchObject({
      requestsPerMinute: 1_000_000,
      activeVideos: 10_000,
      videoJobsAtOnce: 2,
      responsesMaxBytes: 1_024,
      bodyMemoryBytes: 1_048_576,
      acceptsWebhooks: false,
      allowsLoopbackUrls: true,
      mediaDir: '/media',
    });
  });
});

describe('results in a bucket', () => {
  it('go to the region’s own service unless an endpoint is set', () => {
    expect(readConfig({ MEDIA_URL: 's3://results', ...s3Keys }, null).s3).toEqual({
      endpoint: 'https://s3.us-east-1.amazonaws.com',
      bucket: 'results',
      prefix: '',
      region: 'us-east-1',
      accessKeyId: 'id',
      secretAccessKey: 'secret',
    });
    expect(
      readConfig(
        {
          MEDIA_URL: 's3://results/causeway//live/',
          S3_ENDPOINT: 'http://127.0.0.1:9000/',
          S3_REGION: 'eu-central-1',
          ...s3Keys,
        },
        null,
      ).s3,
    ).toMatchObject({
      endpoint: 'http://127.0.0.1:9000',
      prefix: 'causeway/live/',
      region: 'eu-central-1',
    });
  });
});

describe('a wrong setting', () => {
  it.each<[Record<string, string>, RegExp]>([
    [{ PORT: 'http' }, /^PORT: must be a whole number from 0 to 65535$/],
    [{ PORT: '70000' }, /^PORT: /],
    [{ DATABASE_URL: 'mysql://x' }, /^DATABASE_URL: must be a postgres:\/\/ URL$/],
    [{ DATABASE_DIRECT_URL: 'postgres://host/db' }, /^DATABASE_DIRECT_URL: it needs DATABASE_URL beside it/],
    [{ BRAND: 'Two Words' }, /^BRAND: /],
    [{ SEARCH_PRICING: 'free' }, /^SEARCH_PRICING: must be dynamic or flat$/],
    [{ MEDIA_URL: 'https://bucket.example' }, /^MEDIA_URL: must be s3:\/\/BUCKET or s3:\/\/BUCKET\/PREFIX$/],
    [{ MEDIA_URL: 's3://Bucket' }, /^MEDIA_URL: /],
    [{ MEDIA_URL: 's3://ab', ...s3Keys }, /^MEDIA_URL: /],
    [{ MEDIA_URL: 's3://results/a?b', ...s3Keys }, /^MEDIA_URL: /],
    [{ MEDIA_URL: 's3://results/a/../b', ...s3Keys }, /^MEDIA_URL: the prefix must not have/],
    [{ MEDIA_URL: 's3://results' }, /^S3_ACCESS_KEY_ID: must be set beside MEDIA_URL$/],
    [
      { MEDIA_URL: 's3://results', S3_ACCESS_KEY_ID: 'id' },
      /^S3_SECRET_ACCESS_KEY: must be set beside MEDIA_URL$/,
    ],
    [
      { MEDIA_URL: 's3://results', MEDIA_DIR: '/media', ...s3Keys },
      /^MEDIA_DIR: cannot be set beside MEDIA_URL$/,
    ],
    [{ S3_ENDPOINT: 'https://s3.example' }, /^S3_ENDPOINT: goes with MEDIA_URL/],
    [{ S3_ACCESS_KEY_ID: 'id' }, /^S3_ACCESS_KEY_ID: goes with MEDIA_URL/],
    [{ S3_SECRET_ACCESS_KEY: 'secret' }, /^S3_SECRET_ACCESS_KEY: goes with MEDIA_URL/],
    [{ S3_ENDPOINT: 's3.example', MEDIA_URL: 's3://results', ...s3Keys }, /^S3_ENDPOINT: must be an http/],
    [
      { S3_ENDPOINT: 'https://id:secret@s3.example', MEDIA_URL: 's3://results', ...s3Keys },
      /^S3_ENDPOINT: must have no credentials/,
    ],
    [{ S3_REGION: 'EU West' }, /^S3_REGION: must be a region name$/],
    [{ S3_BUCKET: 'results' }, /^S3_BUCKET: there is no such setting/],
    [{ REQUESTS_PER_MINUTE: '0' }, /^REQUESTS_PER_MINUTE: /],
    [{ REQUESTS_PER_MINUTE: '1000001' }, /^REQUESTS_PER_MINUTE: /],
    [{ REQUESTS_PER_MINUTE: 'many' }, /^REQUESTS_PER_MINUTE: must be a whole number from 1 to 1000000$/],
    [{ ACTIVE_VIDEOS: '0' }, /^ACTIVE_VIDEOS: /],
    [{ ACTIVE_VIDEOS: '10001' }, /^ACTIVE_VIDEOS: /],
    [{ VIDEO_JOBS_AT_ONCE: '0' }, /^VIDEO_JOBS_AT_ONCE: /],
    [{ VIDEO_JOBS_AT_ONCE: '1.5' }, /^VIDEO_JOBS_AT_ONCE: must be a whole number from 1 to 10000$/],
    [{ RESPONSES_MAX_BYTES: '1023' }, /^RESPONSES_MAX_BYTES: /],
    [
      { RESPONSES_MAX_BYTES: '4MiB' },
      /^RESPONSES_MAX_BYTES: must be a whole number from 1024 to 1073741824$/,
    ],
    [{ BODY_MEMORY_BYTES: '1048575' }, /^BODY_MEMORY_BYTES: /],
    [
      { BODY_MEMORY_BYTES: '1e9' },
      /^BODY_MEMORY_BYTES: must be a whole number from 1048576 to 1099511627776$/,
    ],
    [{ WEBHOOKS: 'true' }, /^WEBHOOKS: must be on or off$/],
    [{ ALLOW_LOOPBACK_URLS: 'yes' }, /^ALLOW_LOOPBACK_URLS: /],
    [{ X402_NETWORKS: 'base' }, /^X402_NETWORKS/],
    [{ X402_NETWORKS: 'eip155:8453' }, /^X402_EVM_PAY_TO: /],
    [{ X402_NETWORKS: 'eip155:8453', X402_EVM_PAY_TO: `0x${'1'.repeat(40)}` }, /^X402_FACILITATOR_URL: /],
    [{ X402_EVM_FACILITATOR_KEY: `0x${'1'.repeat(64)}` }, /^X402_EVM_RPC_URL: /],
    [{ X402_SETTLE_MS: '30s' }, /^X402_SETTLE_MS: must be a whole number/],
    [{ X402_SETTLE_MS: '240001' }, /^X402_SETTLE_MS: /],
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
    ['models: [', /^causeway\.yaml: .* at line \d+, column \d+$/],
    ['modles: {}', /^causeway\.yaml: /],
    [
      'models: { a: { kind: chat, routes: [{ provider: sandbox }] } }',
      /^causeway\.yaml: models\.a\.price: is required$/,
    ],
    [
      'models: { a: { kind: image, price: { unit: call }, routes: [{ provider: sandbox }] } }',
      /^causeway\.yaml: models\.a\.price\.price_usd: is required$/,
    ],
    [
      'mcp_servers: { "a b": { url: "https://a.example" } }',
      /: mcp_servers\.a b: must be a name of lower-case/,
    ],
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
    [
      'providers: { up: { type: openai, base_url: "http://127.0.0.1:1/v1" } }\nmodels: { a: { kind: image, price: { unit: call, price_usd: "0.1" }, routes: [{ provider: up }, { provider: sandbox }] } }',
      /^causeway\.yaml: models\.a\.routes: names a real provider and the sandbox; .* SKU of its own$/,
    ],
    ['moderation: { provider: nobody, model: m }', /moderation.provider: there is no provider "nobody"/],
    ['moderation: { provider: sandbox, model: m }', /"sandbox" of type openai/],
  ])('%j in the file is one line that names it', (text, line) => {
    expect(() => readConfig({}, yaml(text))).toThrow(line);
  });
});

describe('causeway.yaml', () => {
  it('may name who looks at video requests with nsfw_check', () => {
    const text = `
providers: { up: { type: openai, base_url: "http://127.0.0.1:9/v1" } }
moderation: { provider: up, model: omni-moderation-latest }
`;
    expect(readConfig({}, yaml(text)).moderation).toEqual({
      provider: 'up',
      model: 'omni-moderation-latest',
    });
    expect(readConfig({}, null).moderation).toBeNull();
  });

  it('replaces the list of SKUs and routes them to an OpenAI-compatible provider', () => {
    const config = readConfig(
      { UP_KEY: 'secret' },
      yaml(`
providers: { up: { type: openai, base_url: "http://127.0.0.1:9/v1/", api_key_env: UP_KEY, idle_ms: 5 } }
models:
  mine: { kind: chat, price: { unit: token, input_usd_per_1m: 0.5, output_usd_per_1m: "1.50" }, routes: [{ provider: up, model: llama }, { provider: up }] }
`),
    );
    expect(config.models).toHaveLength(1);
    expect(config.models[0]?.routes).toEqual([
      { provider: 'up', model: 'llama' },
      { provider: 'up', model: 'mine' },
    ]);
    expect(config.providers['up']).toMatchObject({
      type: 'openai',
      baseUrl: 'http://127.0.0.1:9/v1',
      apiKey: 'secret',
    });
  });
});
