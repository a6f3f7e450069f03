import { describe, expect, it, onTestFinished } from 'vitest';
import { createOutbound } from '../../src/http/create-outbound.ts';
import { OutboundError } from '../../src/http/outbound.ts';
import type { HttpAnswer } from '../../src/http/send-request.ts';
import { connectServer } from '../../src/mounts/connect-server.ts';
import { toReason } from '../../src/mounts/hide-secrets.ts';
import type { HttpTarget } from '../../src/mounts/mount-settings.ts';
import type { OAuthSettings } from '../../src/mounts/oauth-settings.ts';
import { UnsentError, type MountedServer } from '../../src/mounts/mounted-server.ts';
import { giveByCredentials, signRequests } from '../../src/mounts/sign-requests.ts';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { startHttpMcp, type Answer, type SeenRequest } from './http-mcp-server.ts';
import { createProcessGroups } from '../../src/mounts/process-groups.ts';
import { makeFolder } from './start-mounts.ts';
import { httpTarget, mountConfig } from './mount-config.ts';

const signal = new AbortController().signal;
const call = (server: MountedServer) => server.call('echo', {}, { signal });

/** A server of MCP that takes the token which its address of tokens gave last. */
const startProtected = async ({
  expiresIn = 3_600,
  answer,
}: { expiresIn?: number; answer?: Answer } = {}) => {
  const state = { token: '', given: 0 };
  const server = await startHttpMcp((request, response) => {
    if (answer?.(request, response) === true) return true;
    if (request.path === '/token') {
      state.given += 1;
      state.token = `token-${state.given}`;
      const body = { access_token: state.token, token_type: 'Bearer', expires_in: expiresIn };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      return true;
    }
    if (request.headers.authorization === `Bearer ${state.token}`) return false;
    response.writeHead(401).end(`${request.headers.authorization} is not valid`);
    return true;
  });
  return { ...server, state };
};

const account = (origin: string): OAuthSettings => ({
  per_account: false,
  token_url: `${origin}/token`,
  client_id: 'gateway:1',
  secret: 'the secret',
  scope: 'tools',
});

const { log, lines } = createRecordedLog();

const open = async (
  origin: string,
  { isPrivate = true, oauth = account(origin) }: { isPrivate?: boolean; oauth?: OAuthSettings } = {},
): Promise<MountedServer> => connect(httpTarget(`${origin}/mcp?key=k`, { oauth, isPrivate }));

const connect = async (target: HttpTarget): Promise<MountedServer> => {
  const outbound = createOutbound({ allowsLoopback: false, userAgent: 'test' });
  onTestFinished(() => outbound.close());
  const server = await connectServer(mountConfig('remote', target), {
    log,
    outbound,
    groups: createProcessGroups(makeFolder()),
    clientInfo: { name: 'test', version: '1' },
    onToolsChanged: () => undefined,
    signal,
  });
  onTestFinished(() => server.close());
  return server;
};

const tokenRequests = (seen: readonly SeenRequest[]): SeenRequest[] =>
  seen.filter(({ path }) => path === '/token');

describe('client credentials', () => {
  it('get one token for all requests', async () => {
    const { origin, seen, state } = await startProtected();
    const server = await open(origin);
    await Promise.all([call(server), call(server), call(server)]);
    const [asked, ...more] = tokenRequests(seen);
    expect(more).toEqual([]);
    expect(asked).toMatchObject({
      method: 'POST',
      body: `grant_type=client_credentials&resource=${encodeURIComponent(`${origin}/mcp`)}&scope=tools`,
      headers: {
        authorization: `Basic ${Buffer.from('gateway%3A1:the%20secret').toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
    });
    expect(state.given).toBe(1);
  });

  it('get a new token, once, when one is refused', async () => {
    const { origin, state } = await startProtected();
    const server = await open(origin);
    state.token = 'revoked';
    const outcomes = await Promise.all([call(server), call(server)]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['answered', 'answered']);
    expect(state.given).toBe(2);
  });

  it('get a new token when one has ended', async () => {
    const { origin, seen, state } = await startProtected({ expiresIn: 0 });
    await call(await open(origin));
    expect(state.given).toBe(seen.length - state.given);
  });

  it('say that a call was refused, which is not sent again because its server is not reached', async () => {
    const sent: string[] = [];
    const answer = (status: number, value: object) =>
      ({
        status,
        headers: {},
        body: { text: async () => JSON.stringify(value), destroy: () => undefined },
      }) as unknown as HttpAnswer;
    const sendOnce = async (url: string) => {
      sent.push(url);
      if (url.endsWith('/token')) return answer(200, { access_token: 'token' });
      if (sent.length === 2) return answer(401, {});
      throw new OutboundError('unreachable', 'The host does not accept a connection.');
    };
    const send = signRequests(
      sendOnce,
      giveByCredentials(sendOnce, account('https://far.example'), 'https://far.example/mcp'),
    );
    const request = { timeouts: {}, limits: { totalBytes: 1_000 } };
    await expect(send('https://far.example/mcp', request)).rejects.toBeInstanceOf(UnsentError);
    expect(sent.map((url) => new URL(url).pathname)).toEqual(['/token', '/mcp', '/token', '/mcp']);
  });

  it('leave a call unsent that is refused with a new token, too', async () => {
    const { origin, seen } = await startProtected({
      answer: ({ body }, response) => {
        if (!body.includes('tools/call')) return false;
        response.writeHead(401).end();
        return true;
      },
    });
    const server = await open(origin);
    expect(await call(server)).toMatchObject({ kind: 'unsent' });
    expect(seen.filter(({ body }) => body.includes('tools/call'))).toHaveLength(2);
    expect(tokenRequests(seen)).toHaveLength(2);
  });

  it.each([
    ['a refusal', 400, { error: 'invalid_client', error_description: 'the secret is wrong' }],
    ['a redirect', 307, {}],
    ['no token', 200, { token_type: 'Bearer' }],
    ['a token that is no header', 200, { access_token: 'a\r\nb' }],
  ])(
    'connect nothing when their address answers %s, and tell nobody the secret',
    async (_what, status, body) => {
      const { origin, seen } = await startProtected({
        answer: ({ path }, response) => {
          if (path !== '/token') return false;
          response.writeHead(status, { location: '/mcp' }).end(JSON.stringify(body));
          return true;
        },
      });
      await expect(open(origin)).rejects.toThrow(/^the address of tokens gave none: /);
      expect(seen.every(({ path }) => path === '/token')).toBe(true);
      expect(JSON.stringify(lines)).not.toContain('secret');
    },
  );

  it('are sent to no private address that the operator did not allow', async () => {
    const { origin, seen } = await startProtected();
    for (const [at, problem] of [
      [origin, 'The host of the URL is this machine itself.'],
      ['https://10.0.0.1', 'The host of the URL is not a public address.'],
    ] as const)
      await expect(open('https://mcp.example.com', { isPrivate: false, oauth: account(at) })).rejects.toThrow(
        `the address of tokens gave none: ${problem}`,
      );
    expect(seen).toEqual([]);
  });
});

describe.each([
  ['of an account', (origin: string) => httpTarget(`${origin}/mcp`, { tokens: async () => 'token-of-it' })],
  ['of client credentials', (origin: string) => httpTarget(`${origin}/mcp`, { oauth: account(origin) })],
])('a token %s', (_whose, targetOf) => {
  it.each([-32_602, -32_000])('is told to nobody by an error %i that repeats it', async (code) => {
    const { origin } = await startHttpMcp(({ path, headers, body }, response) => {
      const answer = (text: object): true => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(text));
        return true;
      };
      if (path === '/token') return answer({ access_token: 'token-of-it', token_type: 'Bearer' });
      if (!body.includes('tools/call')) return false;
      const error = { code, message: `${headers.authorization} is wrong` };
      return answer({ jsonrpc: '2.0', id: JSON.parse(body).id, error });
    });
    const target = targetOf(origin);
    const outcome = await call(await connect(target));
    const said =
      outcome.kind === 'answered' ? JSON.stringify(outcome.result) : toReason(outcome.cause, target);
    expect(said).toContain('Bearer [token] is wrong');
  });
});

it('leaves a call unsent whose token cannot be read', async () => {
  const { origin, seen } = await startHttpMcp();
  let isAway = false;
  const tokens = async (): Promise<string> => {
    if (isAway) throw new Error('the store is away');
    return 'token-of-it';
  };
  const server = await connect(httpTarget(`${origin}/mcp`, { tokens }));
  isAway = true;
  expect(await call(server)).toMatchObject({ kind: 'unsent' });
  expect(seen.some(({ body }) => body.includes('tools/call'))).toBe(false);
});
