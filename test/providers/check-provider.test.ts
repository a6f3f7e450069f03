import { createServer, type RequestListener } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { checkProvider } from '../../src/providers/check-provider.ts';
import type { RemoteConfig } from '../../src/providers/remote-settings.ts';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { listenOnLoopback, type Listening } from '../mcp/listen-on-loopback.ts';
import { noAbort } from './collect.ts';

const servers: Listening[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const serve = async (listener: RequestListener): Promise<string> => {
  const server = await listenOnLoopback(createServer(listener));
  servers.push(server);
  return server.url;
};

const timeouts = { connectMs: 1_000, firstByteMs: 1_000, idleMs: 1_000, totalMs: 1_000 };

/** The lines of the log after a check of a provider named `up`. */
const check = async (type: RemoteConfig['type'], baseUrl: string, signal = noAbort()) => {
  const { log, lines } = createRecordedLog();
  const provider: RemoteConfig = { type, baseUrl, apiKey: 'sk-topsecret', timeouts };
  await checkProvider('up', provider, { log, signal });
  expect(JSON.stringify(lines)).not.toContain('topsecret');
  return lines;
};

describe('the check of a provider', () => {
  it.each([
    ['openai', '/v1', '/v1/models'],
    ['openai', '', '/models'],
    ['videos', '', '/v1/models'],
    ['videos', '/v1', '/v1/models'],
    ['modelark', '', '/api/v3/contents/generations/tasks?page_size=1'],
  ] as const)(
    'of type %s at %s reads %s with the key, and says nothing of an answer',
    async (type, base, path) => {
      const asked: unknown[] = [];
      const url = await serve(({ method, url: target, headers }, response) => {
        asked.push([method, target, headers.authorization]);
        response.end('{"data":[]}');
      });
      expect(await check(type, url + base)).toEqual([]);
      expect(asked).toEqual([['GET', path, 'Bearer sk-topsecret']]);
    },
  );

  it.each([
    [404, /^the provider up answers 404: providers\.up\.base_url is probably wrong .*\(causeway\.yaml\)$/],
    [301, /^the provider up answers with a redirect \(301\).*providers\.up\.base_url/],
    [400, /^the provider up answers 400, mostly to a wrong key.*providers\.up\.api_key_env names/],
    [401, /^the provider up refuses the key \(401\).*providers\.up\.api_key_env names/],
    [403, /^the provider up refuses the key \(403\)/],
    [503, /^the provider up is out of order \(503\)/],
  ])('tells of the status %i, what follows and what to do', async (status, message) => {
    const url = await serve((_request, response) => response.writeHead(status).end());
    expect(await check('openai', `${url}/v1`)).toMatchObject([
      { level: 40, provider: 'up', url: `${url}/v1/models`, status, msg: expect.stringMatching(message) },
    ]);
  });

  it('tells when nothing listens', async () => {
    const url = await serve(() => {});
    const [server] = servers.splice(0);
    await server?.close();
    expect(await check('openai', url)).toMatchObject([
      {
        level: 40,
        err: expect.anything(),
        msg: expect.stringMatching(/^the provider up cannot be reached: .*providers\.up\.base_url/),
      },
    ]);
  });

  it('tells of an address that never answers, after a while', async () => {
    const url = await serve(() => {});
    expect(await check('openai', url)).toMatchObject([
      { level: 40, err: { type: 'OutboundError', failure: 'timeout' } },
    ]);
  }, 60_000);

  it('says nothing when the gateway ends meanwhile', async () => {
    const ending = new AbortController();
    const url = await serve(() => ending.abort());
    expect(await check('openai', url, ending.signal)).toEqual([]);
  });
});
