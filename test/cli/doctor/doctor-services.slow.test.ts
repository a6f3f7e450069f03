import { createServer } from 'node:http';
import { generatePrivateKey } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startChains, type Chains } from '../../chains/start-chains.ts';
import { startHttp } from '../../http/local-hosts.ts';
import { startS3Server } from '../../media/s3-server.ts';
import { listenOnLoopback } from '../../mcp/listen-on-loopback.ts';
import { hasService, redisUrl } from '../../outside-services.ts';
import { startStubUpstream } from '../../providers/stub-upstream.ts';
import { examine, quiet } from './examine.ts';

describe('Redis', () => {
  it.skipIf(!hasService('Redis'))('answers', async () => {
    expect((await examine({ ...quiet, REDIS_URL: redisUrl })).findingsOf('redis')).toEqual([
      'ok: Redis answers.',
    ]);
  });

  it('that is away is a problem', async () => {
    const { findingsOf, stdout } = await examine({ ...quiet, REDIS_URL: 'redis://:topsecret@127.0.0.1:1' });
    expect(findingsOf('redis')).toEqual([
      expect.stringMatching(/^problem: REDIS_URL: Redis does not answer/),
    ]);
    expect(stdout).not.toContain('topsecret');
  });
});

describe('a bucket', () => {
  it('takes, returns and removes an object', async () => {
    const s3 = await startS3Server();
    onTestFinished(() => s3.stop());
    const { endpoint, bucket, accessKeyId, secretAccessKey } = s3.config;
    const env = {
      PORT: '0',
      X402_EVM_RPC_URL: 'http://127.0.0.1:1',
      X402_NETWORKS: 'eip155:84532',
      MEDIA_URL: `s3://${bucket}/media`,
      S3_ENDPOINT: endpoint,
      S3_ACCESS_KEY_ID: accessKeyId,
      S3_SECRET_ACCESS_KEY: secretAccessKey,
    };
    const right = await examine(env);
    expect(right.findingsOf('buckets')).toEqual([
      expect.stringMatching(/^ok: MEDIA_URL: .* takes, returns and removes/),
    ]);
    expect(right.findingsOf('leads')).toEqual(['warning: No profiles were imported.']);
    expect(await s3.contents()).toEqual([]);
    const locked = await examine({ ...env, S3_SECRET_ACCESS_KEY: 'topsecret' });
    expect(locked.findingsOf('buckets')).toEqual([expect.stringMatching(/^problem: MEDIA_URL/)]);
    expect(locked.stdout).not.toContain('topsecret');
  });
});

describe('services that accept connections and never answer', () => {
  it('are named, each in its own words', async () => {
    const silent = await listenOnLoopback(createServer(() => undefined));
    onTestFinished(() => silent.close());
    const { host, port } = new URL(silent.url);
    const { findingsOf } = await examine(
      {
        PORT: port,
        X402_NETWORKS: 'eip155:84532',
        X402_EVM_RPC_URL: silent.url,
        X402_FACILITATOR_URL: silent.url,
        DATABASE_URL: `postgres://gate@${host}/causeway`,
      },
      `{ providers: { up: { type: openai, base_url: "${silent.url}/v1" } } }`,
    );
    expect(findingsOf('store')).toEqual([expect.stringMatching(/^problem: .* PostgreSQL cannot be reached/)]);
    expect(findingsOf('payments')).toEqual([expect.stringMatching(/^problem: .* the node did not answer/)]);
    expect(findingsOf('providers')).toEqual([expect.stringMatching(/^problem: .* cannot be reached/)]);
    expect(findingsOf('addresses')).toEqual([
      expect.stringMatching(/^problem: .* does not answer \/health\/ready \(timeout\)/),
    ]);
  }, 60_000);
});

describe('a provider', () => {
  const yamlOf = (baseUrl: string, model = 'stub-model'): string => `
providers:
  up: { type: openai, base_url: "${baseUrl}", api_key_env: UPSTREAM_KEY }
models:
  chat-1: { kind: chat, price: { unit: call, price_usd: "1" }, routes: [{ provider: up, model: ${model} }] }
`;
  const env = { ...quiet, UPSTREAM_KEY: 'topsecret' };

  it('is asked for nothing that costs money', async () => {
    const upstream = await startStubUpstream();
    onTestFinished(() => upstream.close());
    const { findingsOf } = await examine(env, yamlOf(upstream.baseUrl));
    expect(findingsOf('providers')).toEqual(['ok: The provider up answers and takes the key.']);
    // The stub notes every request but those for the list of models.
    expect(upstream.requests).toEqual([]);
  });

  it('that does not list the model of a route is named with it, as it may serve it all the same', async () => {
    const upstream = await startStubUpstream();
    onTestFinished(() => upstream.close());
    const { findingsOf } = await examine(env, yamlOf(upstream.baseUrl, 'stub-modle'));
    expect(findingsOf('providers')).toEqual([
      'ok: The provider up answers and takes the key.',
      'warning: The provider up does not list the model stub-modle.',
    ]);
  });

  it.each(['{}', '{"data":[]}', '{"data":[null]}', '{"data":7}', 'null', '<!doctype html>', ''])(
    'that answers %j for its list of models is not blamed for its models',
    async (list) => {
      const url = await startHttp((_request, response) => response.end(list));
      const { findingsOf } = await examine(env, yamlOf(url));
      expect(findingsOf('providers')).toEqual(['ok: The provider up answers and takes the key.']);
    },
  );

  it('that refuses the key, or has another time, is named', async () => {
    let date = new Date();
    let status = 401;
    const server = await listenOnLoopback(
      createServer((_request, response) =>
        response.writeHead(status, { date: date.toUTCString() }).end('{}'),
      ),
    );
    onTestFinished(() => server.close());
    const refused = await examine(env, yamlOf(server.url));
    expect(refused.findingsOf('providers')).toEqual([
      expect.stringMatching(/^problem: The provider up refuses the key \(401\)/),
    ]);
    expect(refused.stdout).not.toContain('topsecret');
    status = 200;
    date = new Date(Date.now() + 300_000);
    const ahead = await examine(env, yamlOf(server.url));
    expect(ahead.findingsOf('providers')).toContainEqual(
      expect.stringMatching(/^problem: This machine's clock is \d+ s behind the clock of the provider up/),
    );
  });
});

describe('the payment networks', () => {
  let chains: Chains;
  beforeAll(async () => {
    chains = await startChains();
  });
  afterAll(() => chains.stop());

  const evm = (): Record<string, string> => {
    const { X402_EVM_PAY_TO = '', X402_EVM_RPC_URL = '', X402_EVM_FACILITATOR_KEY = '' } = chains.environment;
    return {
      PORT: '0',
      X402_NETWORKS: 'eip155:84532',
      X402_EVM_PAY_TO,
      X402_EVM_RPC_URL,
      X402_EVM_FACILITATOR_KEY,
    };
  };

  it('are right on both chains', async () => {
    const { findingsOf } = await examine({ ...chains.environment, PORT: '0' });
    expect(findingsOf('payments')).toEqual([
      'ok: Base Sepolia: the node is current, the token is right, and payments can be settled (local facilitator).',
      'ok: Solana devnet: the node is current, the token is right, and payments can be settled (local facilitator).',
    ]);
    expect(findingsOf('settings')).toEqual([
      expect.stringMatching(/^warning: Calls without a key are paid on Base Sepolia/),
    ]);
  });

  it('are a problem with a node of another chain', async () => {
    const { findingsOf } = await examine({ ...evm(), X402_NETWORKS: 'eip155:11155111' });
    expect(findingsOf('payments')).toEqual([
      expect.stringMatching(/^problem: Ethereum Sepolia: the RPC serves chain 84532, not 11155111/),
    ]);
  });

  it('are a problem when the settling account is empty', async () => {
    const key = generatePrivateKey();
    const { findingsOf, stdout } = await examine({ ...evm(), X402_EVM_FACILITATOR_KEY: key });
    expect(findingsOf('payments')).toEqual([
      expect.stringMatching(
        /^problem: Base Sepolia: the settling account 0x\w{40} cannot pay for one settlement/,
      ),
    ]);
    expect(stdout).not.toContain(key.slice(2));
  });

  it('are a problem when the facilitator does not name the network', async () => {
    const facilitator = await listenOnLoopback(
      createServer((_request, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"kinds":[]}'),
      ),
    );
    onTestFinished(() => facilitator.close());
    const { X402_EVM_FACILITATOR_KEY: _key, ...env } = evm();
    const { findingsOf } = await examine({ ...env, X402_FACILITATOR_URL: facilitator.url });
    expect(findingsOf('payments')).toEqual([
      expect.stringMatching(/^problem: Base Sepolia: the facilitator .* does not settle on Base Sepolia/),
    ]);
  });
});
