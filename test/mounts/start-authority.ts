import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, onTestFinished } from 'vitest';
import { createOutbound } from '../../src/http/create-outbound.ts';
import { createSignIns } from '../../src/mounts/create-sign-ins.ts';
import type { HttpTarget } from '../../src/mounts/mount-settings.ts';
import type { OAuthSettings } from '../../src/mounts/oauth-settings.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { createSecretVault } from '../../src/mounts/secret-vault.ts';
import type { Store } from '../../src/store/store.ts';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { createAccount } from '../store/builders.ts';
import type { TestEngine, TestStore } from '../store/open-test-store.ts';
import { startHttpMcp } from './http-mcp-server.ts';
import { httpTarget, mountConfig } from './mount-config.ts';

const writeJson = (response: ServerResponse, body: object, status = 200): true => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  return true;
};

export interface Authority {
  /** Of the metadata of the authorization server. */
  metadata: Record<string, unknown>;
  /** Of the answer that has new tokens. */
  tokens: Record<string, unknown>;
  /** The answer to a request for tokens; undefined: new tokens. */
  answer: { body: object; status: number } | undefined;
  /** The authorization server that the resource names; undefined: itself. */
  named: string | undefined;
}

/** An account that signs in to the server `notes`. */
export const createOwner = async (store: Store): Promise<{ accountId: string; server: string }> => {
  const account = { name: 'T', status: 'active', isSandbox: false } as const;
  const { id } = await createAccount({ store, clock: systemClock }, account);
  return { accountId: id, server: 'notes' };
};

/** A server of MCP and its authorization server, whose refresh tokens are used once. */
export const startAuthority = async () => {
  const authority: Authority = { metadata: {}, tokens: {}, answer: undefined, named: undefined };
  const spent = new Set<string>();
  let given = 0;
  const { origin, seen } = await startHttpMcp(({ path, body }, response) => {
    if (path === '/mcp') {
      const challenge = `Bearer resource_metadata="${origin}/resource", scope="read notes"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end();
      return true;
    }
    if (path === '/resource')
      return writeJson(response, {
        resource: `${origin}/mcp`,
        authorization_servers: [authority.named ?? origin],
      });
    if (path === '/.well-known/oauth-authorization-server')
      return writeJson(response, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        ...authority.metadata,
      });
    if (path === '/register')
      return writeJson(response, { ...(JSON.parse(body) as object), client_id: 'us' }, 201);
    if (path === '/revoke') return writeJson(response, {});
    if (path === '/broken') return writeJson(response, {}, 503);
    if (path !== '/token') return false;
    const refreshToken = new URLSearchParams(body).get('refresh_token') ?? `code of ${given}`;
    const {
      answer = spent.has(refreshToken) ? { body: { error: 'invalid_grant' }, status: 400 } : undefined,
    } = authority;
    if (answer !== undefined) return writeJson(response, answer.body, answer.status);
    spent.add(refreshToken);
    given += 1;
    return writeJson(response, {
      ...{ access_token: `access-${given}`, refresh_token: `refresh-${given}`, expires_in: 3_600 },
      token_type: 'Bearer',
      ...authority.tokens,
    });
  });
  const askedAt = (path: string): string[] =>
    seen.filter((request) => request.path === path).map(({ body }) => body);
  return { authority, origin, seen, asked: () => askedAt('/token'), revoked: () => askedAt('/revoke') };
};

/** The sign-ins of one account, at one gateway. */
export const openSignIns = (
  origin: string,
  {
    store,
    owner,
    oauth = {},
    ...more
  }: {
    store: Store;
    owner: { accountId: string; server: string };
    oauth?: Partial<OAuthSettings> | undefined;
  } & Pick<Partial<HttpTarget>, 'isPrivate'>,
) => {
  const { server } = owner;
  const outbound = createOutbound({ allowsLoopback: more.isPrivate === false, userAgent: 'test' });
  onTestFinished(() => outbound.close());
  const { log, lines } = createRecordedLog();
  const clock = { ms: 0, now: () => Date.now() + clock.ms };
  const target = httpTarget(`${origin}/mcp`, { ...more, oauth: { per_account: true, ...oauth } });
  const config = mountConfig(server, target);
  const vault = createSecretVault(store, ['0a'.repeat(32)]);
  const signIns = createSignIns([config], {
    ...{ clock, log, outbound, clientInfo: { name: 'causeway', version: '1' } },
    vault,
    publicUrl: () => 'https://gateway.example.com',
    onChange: () => undefined,
  });
  const mounted = signIns.withTokens(config, owner.accountId).target as HttpTarget;
  const begin = () => signIns.begin(owner, 'the hash of a key');
  const finish = (back: URLSearchParams, cookie: string) =>
    signIns.finish(server, back, { cookie, mayFinish: async () => true });
  const signIn = async (): Promise<void> => {
    const { address, cookie } = await begin();
    const state = new URL(address).searchParams.get('state') ?? '';
    await finish(new URLSearchParams({ state, code: 'the code' }), cookie);
  };
  const lacks = async (): Promise<boolean> =>
    (await store.listToolSecrets(owner)).every(({ name }) => name !== 'sign-in');
  return { ...signIns, begin, finish, vault, clock, lines, signIn, give: mounted.tokens!, lacks };
};

/** For a suite: a store and an account for each test, and gateways that sign it in. */
export const useSignIns = (create: TestEngine['create']) => {
  let data: TestStore;
  let owner: Awaited<ReturnType<typeof createOwner>>;
  beforeEach(async () => {
    data = await create();
    owner = await createOwner(data.store);
  });
  afterEach(() => data.remove());
  const open = (origin: string, more: Partial<Parameters<typeof openSignIns>[1]> = {}) =>
    openSignIns(origin, { store: data.store, owner, ...more });
  return { data: () => data, owner: () => owner, open };
};

/** A store whose second write of a secret does not end, as if the gateway had died while it renewed a token. */
export const createDyingStore = (store: Store): { store: Store; writes: () => number } => {
  let writes = 0;
  const dying: Store = Object.assign(Object.create(store) as Store, {
    setToolSecret: (row: Parameters<Store['setToolSecret']>[0]) => {
      writes += 1;
      return writes === 1 ? store.setToolSecret(row) : new Promise(() => undefined);
    },
  });
  return { store: dying, writes: () => writes };
};
