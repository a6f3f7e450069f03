import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { describeSettings } from '../../src/config/settings-in-force.ts';
import { payYaml } from './x402-terms.ts';

const read = (server: object, environment: Record<string, string> = {}) =>
  readConfig(environment, JSON.stringify({ mcp_servers: { files: server } })).mounts;

const sandboxed = { command: 'npx', sandbox: 'bubblewrap' };
const key = '0f'.repeat(32);

describe('mcp_servers', () => {
  it('give a program PATH and the variables that they name, and nothing else of the environment', () => {
    const server = {
      command: 'npx',
      args: ['x'],
      env: ['TOKEN'],
      sandbox: 'none',
      prices: { a: 0.5, b: 'free', c: { rows: '/results/a~1b', each: 0.001, max: 50 } },
      harmless: ['a'],
    };
    expect(read(server, { PATH: '/bin', TOKEN: 't', HOME: '/root' })).toEqual([
      {
        name: 'files',
        target: {
          kind: 'stdio',
          command: 'npx',
          args: ['x'],
          env: { PATH: '/bin', TOKEN: 't' },
          sandbox: null,
        },
        allow: null,
        hide: [],
        prices: new Map([
          ['a', { price: 500_000_000n, rows: null }],
          ['b', { price: 0n, rows: null }],
          ['c', { price: 50_000_000n, rows: { path: ['results', 'a/b'], each: 1_000_000n, max: 50 } }],
        ]),
        harmless: ['a'],
        isForConnections: false,
        callsPerMinute: 600,
        concurrentCalls: 32,
        tools: new Map(),
        timeouts: { answerMs: 10_000, silenceMs: 60_000, totalMs: 300_000 },
        result: { maxCharacters: 1_048_576, meta: [] },
        perAccount: [],
        pay: null,
      },
    ]);
  });

  it('name the credentials of an address by variables', () => {
    const url = 'https://a.example/mcp';
    const [bearer] = read(
      { url, transport: 'sse', bearer_env: 'TOKEN', headers_env: { 'X-Team': 'TEAM' } },
      { TOKEN: 't', TEAM: 'gateways' },
    );
    expect(bearer?.target).toEqual({
      kind: 'http',
      accountHeaders: [],
      url,
      isPrivate: false,
      isSse: true,
      headers: { authorization: 'Bearer t', 'x-team': 'gateways' },
      oauth: null,
    });
    const oauth = { token_url: 'https://b.example/token', client_id: 'c', client_secret_env: 'SECRET' };
    expect(read({ url, oauth }, { SECRET: 's' })[0]?.target).toMatchObject({
      headers: {},
      oauth: { token_url: 'https://b.example/token', client_id: 'c', secret: 's' },
    });
  });

  it("hide fixed arguments and addresses from the operator's API, which are perhaps secret", () => {
    const written = {
      mcp_servers: {
        a: {
          url: 'https://a.example/key-1',
          tools: { t: { name: 'u', fixed: { key: 'key-2', more: { a: 'key-3' } }, defaults: { head: 5 } } },
        },
      },
    };
    const { file } = describeSettings({ environment: {}, sourceOf: () => null, file: written });
    expect(file).toMatchObject({
      mcp_servers: {
        a: {
          url: 'https://a.example/(hidden)',
          tools: { t: { name: 'u', fixed: '(hidden)', defaults: { head: 5 } } },
        },
      },
    });
  });

  it('have no server without the file', () => {
    expect(readConfig({}, null).mounts).toEqual([]);
  });

  it.each([
    [{}, /mcp_servers\.files: needs either command or url/],
    [{ command: 'npx', url: 'https://a.example', sandbox: 'none' }, /needs either command or url/],
    [{ command: 'npx' }, /files\.sandbox: must be bubblewrap, or none/],
    [{ command: 'npx', sandbox: 'docker' }, /files\.sandbox: must be bubblewrap, or none/],
    [{ command: 'npx', sandbox: 'none', network: true }, /network, which belong to sandbox: bubblewrap/],
    [{ url: 'https://a.example', read: ['/srv'] }, /read, write or network, which belong to/],
    [{ ...sandboxed, read: ['srv'] }, /files\.read: must be an absolute path/],
    [{ ...sandboxed, pay: payYaml }, /oauth and pay belong to a url/],
    [{ url: 'https://a.example', pay: payYaml }, /files\.pay\.x402\.wallet_env: the environment variable/],
    [{ ...sandboxed, per_account: ['TOKEN'] }, /files\.per_account: needs TOOLS_SECRETS_KEY/],
    [{ url: 'ftp://a.example' }, /files\.url/],
    [
      { url: 'https://a.example', prices: { a: -1 } },
      /files\.prices\.a: must be USD for a call, such as "0\.01", free, or \{ rows/,
    ],
    [{ url: 'https://a.example', prices: { a: { rows: 'results', each: 1, max: 5 } } }, /files\.prices/],
    [{ url: 'https://a.example', prices: { a: { rows: '/results', each: 1 } } }, /files\.prices/],
    [{ url: 'https://a.example', prices: { a: { rows: '/results', each: 1, max: 0 } } }, /files\.prices/],
    [
      { command: 'npx', sandbox: 'none', env: ['ABSENT'] },
      /files\.env: the environment variable ABSENT is not set/,
    ],
    [{ url: 'https://a.example', concurrent_calls: 64 }, /files\.concurrent_calls/],
    [{ url: 'https://a.example', calls_per_minute: 0 }, /files\.calls_per_minute/],
    [{ url: 'https://a.example', price: {} }, /Unrecognized key: "price"; did you mean prices/],
    [
      { url: 'https://a.example', bearer_env: 'ABSENT' },
      /files\.bearer_env: the environment variable ABSENT is not/,
    ],
    [{ command: 'npx', sandbox: 'none', bearer_env: 'A' }, /belong to a url/],
    [{ command: 'npx', sandbox: 'none', transport: 'sse' }, /belong to a url/],
    [{ command: 'npx', sandbox: 'none', headers_env: { a: 'A' } }, /belong to a url/],
    [
      {
        url: 'https://a.example',
        bearer_env: 'A',
        oauth: { token_url: 'https://b.example', client_id: 'c', client_secret_env: 'B' },
      },
      /either bearer_env or oauth/,
    ],
    [{ url: 'https://a.example', tools: { a: { name: 'b.c' } } }, /files\.tools\.a\.name: must be/],
    [
      { url: 'https://a.example', tools: { a: { name: 'c' }, b: { name: 'c' } } },
      /files\.tools: gives two tools/,
    ],
    [
      { url: 'https://a.example', tools: { a: { name: 'b' }, b: {} } },
      /files\.tools: gives two tools one name/,
    ],
    [{ url: 'https://a.example', total_ms: 3_600_001 }, /files\.total_ms/],
  ])('are refused as %j', (server, message) => {
    expect(() => read(server)).toThrow(message);
  });

  it.each([
    'x402/error',
    'mcp/www_authenticate',
    'ui',
    'ui/resourceUri',
    'Anthropic/x',
    'openai/x',
    'io.modelcontextprotocol/x',
  ])('pass no key %s of a result on', (key) => {
    expect(() => read({ url: 'https://a.example', meta: ['a', key] })).toThrow(/files\.meta: is reserved/);
  });

  it.each(
    ['/', homedir(), '/data', '/data/sub', '/', '/etc/causeway', '/srv'].flatMap((path) => [
      { read: [path] },
      { write: [path] },
    ]),
  )('have no sandbox that shows what it hides: %j', (shown) => {
    const environment = {
      DATA_DIR: '/data',
      CAUSEWAY_CONFIG: '/etc/causeway/causeway.yaml',
      MEDIA_DIR: '/srv/media',
    };
    expect(() => read({ ...sandboxed, ...shown }, environment)).toThrow(
      /mcp_servers\.files\.sandbox: \/.* would show the server \//,
    );
  });

  it('have no sandbox that shows the data folder among the programs of the system, or by a link', () => {
    expect(() => read(sandboxed, { DATA_DIR: '/usr/local/causeway' })).toThrow(
      /\/usr would show the server \/usr\/local\/causeway/,
    );
    const link = join(tmpdir(), `causeway-link-${process.pid}`);
    symlinkSync('/', link);
    onTestFinished(() => rmSync(link));
    expect(() => read({ ...sandboxed, read: [link] })).toThrow(/would show the server/);
  });

  it('have no sandbox that shows a file with a key', () => {
    const environment = { X402_EVM_REFUND_KEY_FILE: '/srv/keys/evm' };
    expect(() => read({ ...sandboxed, read: ['/srv/keys'] }, environment)).toThrow(
      /would show the server \/srv\/keys\/evm/,
    );
  });

  it('have no sandbox that shows the env file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'causeway-env-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const envFile = join(folder, 'env');
    const config = join(folder, 'causeway.yaml');
    const shared = join(folder, 'shared');
    writeFileSync(envFile, `CAUSEWAY_CONFIG=${config}\nTOOLS_SECRETS_KEY=${key}\n`);
    const readWith = (path: string) => {
      writeFileSync(config, JSON.stringify({ mcp_servers: { files: { ...sandboxed, read: [path] } } }));
      return loadConfig({}, { envFile });
    };
    await expect(readWith(envFile)).rejects.toThrow(`would show the server ${envFile}`);
    await expect(readWith(shared)).resolves.toMatchObject({ mounts: [{ name: 'files' }] });
  });

  it('have a sandbox with what they name', () => {
    const shown = { read: ['/srv/files'], write: ['/srv/out'], network: true };
    expect(read({ ...sandboxed, ...shown })[0]?.target).toMatchObject({ sandbox: shown });
    expect(read(sandboxed)[0]?.target).toMatchObject({ sandbox: { read: [], write: [], network: false } });
  });

  it.each([
    'PATH',
    'NODE_OPTIONS',
    'LD_PRELOAD',
    'PYTHONPATH',
    'BASH_ENV',
    'DYLD_INSERT_LIBRARIES',
    'https_proxy',
  ])('let accounts not set %s', (name) => {
    expect(() => read({ ...sandboxed, per_account: [name] }, { TOOLS_SECRETS_KEY: key })).toThrow(
      /per_account: must not be a variable that steers programs/,
    );
  });

  it('let accounts set what they name', () => {
    const [server] = read(
      { ...sandboxed, per_account: ['GITHUB_TOKEN', 'GITHUB_TOKEN'] },
      { TOOLS_SECRETS_KEY: key },
    );
    expect(server?.perAccount).toEqual(['GITHUB_TOKEN']);
    expect(() => readConfig({ TOOLS_SECRETS_KEY: 'short' }, null)).toThrow(/^TOOLS_SECRETS_KEY: must be 64/);
  });

  it('let accounts set values of headers, and take those of the operator where they are given', () => {
    const server = {
      url: 'https://a.example',
      per_account: ['TOKEN', 'TEAM'],
      bearer_env: 'TOKEN',
      headers_env: { 'X-Team': 'TEAM' },
    };
    const [mount] = read(server, { TOOLS_SECRETS_KEY: key, TEAM: 'ours' });
    expect(mount?.target).toMatchObject({
      headers: { 'x-team': 'ours' },
      accountHeaders: [
        { header: 'x-team', prefix: '', variable: 'TEAM' },
        { header: 'authorization', prefix: 'Bearer ', variable: 'TOKEN' },
      ],
    });
    const { headers_env: _left, ...rest } = server;
    expect(() => read(rest, { TOOLS_SECRETS_KEY: key })).toThrow(/per_account: TEAM is in no header/);
  });

  it('let accounts sign in, beside the headers of the operator', () => {
    const server = { url: 'https://a.example', bearer_env: 'TOKEN', oauth: { per_account: true } };
    const [mount] = read(server, { TOOLS_SECRETS_KEY: key, TOKEN: 'ours' });
    expect(mount).toMatchObject({
      perAccount: ['sign-in'],
      target: { headers: { authorization: 'Bearer ours' }, oauth: { per_account: true } },
    });
    expect(() => read(server, { TOKEN: 'ours' })).toThrow(/needs TOOLS_SECRETS_KEY/);
  });

  it.each([
    { per_account: true, token_url: 'https://b.example' },
    { per_account: true, client_id: 'c', client_secret_env: 'S' },
    { per_account: true, issuer: 'https://b.example', client_secret_env: 'S' },
    { token_url: 'https://b.example', client_id: 'c' },
    { token_url: 'https://b.example', client_id: 'c', client_secret_env: 'S', listed_by: 'an account' },
    {},
  ])('refuse the sign-in %j', (oauth) => {
    const environment = { TOOLS_SECRETS_KEY: key, S: 'secret' };
    expect(() => read({ url: 'https://a.example', oauth }, environment)).toThrow(
      /needs token_url, client_id and client_secret_env; or per_account/,
    );
  });

  it.each(['Files', 'a__b', '1a', ''])('have no server named "%s"', (name) => {
    const yaml = JSON.stringify({ mcp_servers: { [name]: { url: 'https://a.example' } } });
    expect(() => readConfig({}, yaml)).toThrow(/mcp_servers/);
  });
});
