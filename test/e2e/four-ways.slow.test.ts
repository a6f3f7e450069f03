import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { x402Client, x402HTTPClient } from '@x402/core/client';
import type { PaymentRequired } from '@x402/core/types';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ranks } from '../../ranks.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { embeddedStoreFile } from '../../src/store/open-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { startBaseChain, type BaseChain } from '../chains/base-chain.ts';
import { layDataFolder } from '../data-template.ts';
import { openAccount } from '../mcp/open-account.ts';
import { startStubUpstream } from '../providers/stub-upstream.ts';
import { findInsertions, type Notes } from './ways/notes.ts';

let folder: string;
let chain: BaseChain;
const children: ChildProcess[] = [];

/** Starts a gateway whose functions note their calls. Returns its address, and takes the notes of some work. */
const start = async (name: string, environment: Record<string, string>) => {
  const child = fork(fileURLToPath(new URL('../../src/main.ts', import.meta.url)), {
    execArgv: ['--import', new URL('./ways/note-calls.ts', import.meta.url).href],
    env: {
      PATH: process.env['PATH'],
      DATA_DIR: join(folder, name),
      PORT: '0',
      LOG_LEVEL: 'warn',
      SYNTHETIC_PROFILES: '500',
      ALLOW_LOOPBACK_URLS: 'true',
      WAY_INSERTIONS: join(folder, 'insertions.json'),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  children.push(child);
  let url = '';
  let apiKey = '';
  for await (const line of createInterface({ input: child.stdout! })) {
    url ||= /listening on (http:\/\/\S+)/.exec(line)?.[1] ?? '';
    apiKey ||= /\b(sk_[a-z]+_[0-9A-Za-z]{43})\b/.exec(line)?.[1] ?? '';
    if (line.startsWith('Stop it with')) break;
  }
  child.stdout!.resume();
  const watch = async (work: () => Promise<unknown>): Promise<Notes> => {
    child.send('begin');
    await work();
    const taken = once(child, 'message') as Promise<[Notes]>;
    child.send('take');
    return (await taken)[0];
  };
  return { url, apiKey, watch };
};

const send = async (
  url: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: object },
) => {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const answer = await fetch(url, {
    ...init,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
  });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-ways-'));
  await writeFile(join(folder, 'insertions.json'), JSON.stringify(findInsertions()));
  chain = await startBaseChain();
  await chain.mint(chain.buyer.address, 100_000_000n);
});
afterAll(async () => {
  for (const child of children) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  await chain.stop();
  await rm(folder, { recursive: true });
});

/** The ranks of rooms; `main.ts` is above all. */
const rankOf = (file: string): number => {
  const rank = ranks.findIndex((folders) => folders.includes(file.split('/')[0] ?? ''));
  return rank === -1 ? ranks.length : rank;
};
const roomOf = (file: string): string => (file.includes('/') ? (file.split('/')[0] ?? '') : '');

/** The upward calls that ARCHITECTURE.md lists. */
const allowed = [
  ...readFileSync(new URL('../../ARCHITECTURE.md', import.meta.url), 'utf8').matchAll(
    /^\| `([^`]+\.ts)` \| `([^`]+)` \|/gm,
  ),
].map(([, from = '', to = '']) => ({ from, to }));

const measure = ({ calls, commands, threadFiles }: Notes) => {
  const files = new Set([...calls.map(([, file]) => file), ...threadFiles]);
  const edges = calls.flatMap(([from, to, name]) =>
    from === null || to.startsWith('kit/') ? [] : [{ from, to, name }],
  );
  return {
    files: files.size,
    rooms: new Set([...files].map(roomOf)).size,
    calls: calls.length,
    changesOfRoom: edges.filter(({ from, to }) => roomOf(from) !== roomOf(to)).length,
    commands: commands.length,
    forbidden: edges.filter(
      ({ from, to }) =>
        rankOf(to) > rankOf(from) && !allowed.some((known) => known.from === from && to.startsWith(known.to)),
    ),
  };
};

const client = () =>
  new x402HTTPClient(
    new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(chain.buyer.privateKey))),
  );

const ask = { messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 20 };

/**
 * The most files of each way, and calls of functions. They are a little above what was reached, so that they can only
 * fall. A slow chain is asked more often.
 */
const bounds = {
  chat: { files: 61, calls: 450 },
  search: { files: 95, calls: 1_150 },
  // Its polls are many or few.
  video: { files: 82, calls: Infinity },
  wallet: { files: 108, calls: 1_300 },
};

/** Takes the least of what several calls took: a slow chain is asked more often, and background work may come between. */
const keep = (way: keyof typeof bounds, taken: readonly Notes[]): void => {
  const measured = taken.map(measure);
  expect(measured.flatMap(({ forbidden }) => forbidden)).toEqual([]);
  const leastOf = (name: Exclude<keyof ReturnType<typeof measure>, 'forbidden'>): number =>
    Math.min(...measured.map(({ [name]: count }) => count));
  const [files, calls] = [leastOf('files'), leastOf('calls')];
  const [rooms, changesOfRoom, commands] = [leastOf('rooms'), leastOf('changesOfRoom'), leastOf('commands')];
  process.stdout.write(`${way}: ${JSON.stringify({ files, rooms, calls, changesOfRoom, commands })}\n`);
  expect(files).toBeLessThanOrEqual(bounds[way].files);
  expect(calls).toBeLessThanOrEqual(bounds[way].calls);
};

it('a chat goes through few files, and calls upward only where ARCHITECTURE.md says so', async () => {
  const upstream = await startStubUpstream();
  onTestFinished(() => upstream.close());
  const dataDir = join(folder, 'upstream');
  layDataFolder(dataDir);
  const store = await openSqliteStore({ file: embeddedStoreFile(dataDir), inThisThread: true });
  const { apiKey } = await openAccount({ store, clock: systemClock });
  await store.close();
  const settings = join(folder, 'upstream.yaml');
  await writeFile(
    settings,
    `providers:
  up: { type: openai, base_url: "${upstream.baseUrl}", api_key_env: UPSTREAM_KEY }
models:
  textmodel-3.5-flash:
    kind: chat
    price: { unit: token, input_usd_per_1m: "1.05", output_usd_per_1m: "6.30" }
    routes: [{ provider: up, model: upstream-name }]
`,
  );
  const { url, watch } = await start('upstream', {
    CAUSEWAY_CONFIG: settings,
    UPSTREAM_KEY: 'secret',
    X402_NETWORKS: 'none',
  });
  const chat = async (): Promise<void> => {
    const headers = { authorization: `Bearer ${apiKey}` };
    expect((await send(`${url}/v1/chat/completions`, { headers, body: ask })).status).toBe(200);
  };
  // The model has shown that it answers fast, so the third call is asked for in one piece.
  for (let call = 0; call < 2; call += 1) await chat();
  const taken: Notes[] = [];
  for (let call = 0; call < 5; call += 1) taken.push(await watch(chat));
  keep('chat', taken);
});

describe('a gateway with a sandbox and a chain', () => {
  let gateway: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    layDataFolder(join(folder, 'sandbox'));
    gateway = await start('sandbox', {
      WALLET_ACCOUNTS: 'on',
      X402_NETWORKS: chain.network,
      X402_EVM_PAY_TO: chain.seller.address,
      X402_EVM_RPC_URL: chain.rpcUrl,
      X402_EVM_FACILITATOR_KEY: chain.facilitator.privateKey,
    });
    await vi.waitUntil(async () => (await fetch(`${gateway.url}/health/ready`)).ok, { timeout: 60_000 });
  });

  it('sells a search over MCP through few files', async () => {
    const search = async (meta: object) => {
      const params = { name: 'search_leads', arguments: { query: 'coffee' }, _meta: meta };
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      const [, event = ''] = (await send(`${gateway.url}/mcp`, { body })).text.split('data: ');
      return (JSON.parse(event) as { result: { isError?: true; _meta: Record<string, PaymentRequired> } })
        .result;
    };
    const prove = async () => {
      const terms = (await search({}))._meta['x402/error'];
      return { 'x402/payment': await client().createPaymentPayload(terms!) };
    };
    const pay = async (proof: object) => expect((await search(proof)).isError).toBeUndefined();
    await pay(await prove());
    const taken: Notes[] = [];
    for (let call = 0; call < 5; call += 1) {
      const proof = await prove();
      taken.push(await gateway.watch(() => pay(proof)));
    }
    keep('search', taken);
  });

  it('makes a video through few files', async () => {
    const headers = { authorization: `Bearer ${gateway.apiKey}` };
    const film = { model: 'videomodel-2.0', prompt: 'A harbour', duration: 4, resolution: '480p' };
    const make = async () => {
      const made = await send(`${gateway.url}/v1/videos`, { headers, body: film });
      const { id } = JSON.parse(made.text) as { id: string };
      const read = async () => (await send(`${gateway.url}/v1/videos/${id}`, { headers })).text;
      const whenEnded = { timeout: 60_000, interval: 200 };
      await vi.waitFor(async () => expect(await read()).toContain('"completed"'), whenEnded);
    };
    await make();
    keep('video', [await gateway.watch(make), await gateway.watch(make), await gateway.watch(make)]);
  });

  it('sells a chat to a wallet through few files', async () => {
    const path = `${gateway.url}/v1/chat/completions`;
    const prove = async () => {
      const { headers, text } = await send(path, { body: ask });
      const terms = client().getPaymentRequiredResponse((name) => headers.get(name), JSON.parse(text));
      const accepts = terms.accepts.filter(({ scheme }) => scheme === 'exact');
      return client().encodePaymentSignatureHeader(
        await client().createPaymentPayload({ ...terms, accepts }),
      );
    };
    const pay = async (headers: Record<string, string>) =>
      expect((await send(path, { headers, body: ask })).status).toBe(200);
    await pay(await prove());
    const taken: Notes[] = [];
    for (let call = 0; call < 5; call += 1) {
      const proof = await prove();
      taken.push(await gateway.watch(() => pay(proof)));
    }
    keep('wallet', taken);
  });
});
