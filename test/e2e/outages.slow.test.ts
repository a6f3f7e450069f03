import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { Client } from 'pg';
import sharp from 'sharp';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startGatewayProcess, type GatewayProcess } from '../../scripts/gateway-process.ts';
import { createTestDatabase } from '../cli/test-database.ts';
import { clientKinds } from '../mcp/clients.ts';
import { hasService } from '../outside-services.ts';
import { startTestGateway, whenSearchReady, type TestGateway } from './start-test-gateway.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

interface Gateway {
  url: string;
  apiKey: string | null;
}

const chatInput = { messages: [{ role: 'user', content: 'hello' }], max_tokens: 50 };

const ask = ({ url, apiKey }: Gateway, path: string, { body }: { body?: object } = {}): Promise<Response> =>
  fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

const chat = (gateway: Gateway): Promise<Response> =>
  ask(gateway, '/v1/chat/completions', { body: chatInput });

const readiness = async (gateway: Gateway): Promise<unknown> => {
  const response = await ask(gateway, '/health/ready');
  const { ready, store } = (await response.json()) as { ready: boolean; store: string };
  return { status: response.status, retryAfter: response.headers.get('retry-after'), ready, store };
};

const webhookSecret = async (gateway: Gateway): Promise<unknown> =>
  ((await (await ask(gateway, '/v1/balance')).json()) as { webhook_secret: unknown }).webhook_secret;

const notReady = (store: string): unknown => ({ status: 503, retryAfter: '1', ready: false, store });

const expectPutOff = async (response: Response): Promise<void> => {
  expect([response.status, await response.json()]).toEqual([
    503,
    { error: { type: 'server_error', code: 'upstream_unavailable', message: expect.any(String) } },
  ]);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(response.headers.get('x-request-id')).toMatch(/^req_/);
};

/** The refusal of a chat over MCP. */
const toolRefusal = async ({ url, apiKey }: Gateway): Promise<unknown> => {
  const [kind] = clientKinds;
  const client = await kind!.connect(`${url}/mcp`, apiKey);
  try {
    return (await client.callTool('create_chat_completion', chatInput)).structuredContent;
  } finally {
    await client.close();
  }
};

const putOff = {
  error: {
    type: 'server_error',
    code: 'upstream_unavailable',
    message: expect.any(String),
    retry_after_seconds: expect.any(Number),
  },
};

describe.runIf(hasService('PostgreSQL'))('while PostgreSQL is away', () => {
  const startBehindProxy = async (): Promise<{
    gateway: TestGateway;
    proxy: TcpProxy;
    databaseUrl: string;
  }> => {
    const database = await createTestDatabase();
    const databaseUrl = database?.url ?? '';
    const url = new URL(databaseUrl);
    const proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port || 5432) });
    url.hostname = '127.0.0.1';
    url.port = String(proxy.port);
    const gateway = await startTestGateway({ environment: { DATABASE_URL: url.href } });
    onTestFinished(async () => {
      await gateway.stop();
      await proxy.close();
      await database?.drop();
    });
    await whenSearchReady(gateway);
    return { gateway, proxy, databaseUrl };
  };

  it('calls and readiness are 503, over MCP too, and all goes on when it is back', async () => {
    const { gateway, proxy } = await startBehindProxy();
    expect(await readiness(gateway)).toMatchObject({ status: 200, retryAfter: null, store: 'ready' });
    await proxy.refuse();
    await expectPutOff(await chat(gateway));
    await expectPutOff(await ask(gateway, '/v1/balance'));
    await expectPutOff(await ask(gateway, `/results/${'a'.repeat(43)}.png`));
    await expectPutOff(
      await ask(gateway, '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} } }),
    );
    await expect.poll(() => readiness(gateway)).toEqual(notReady('unavailable'));
    await proxy.accept();
    await expect.poll(() => readiness(gateway)).toMatchObject({ status: 200 });
    expect((await chat(gateway)).status).toBe(200);
  });

  it('readiness does not wait for a server that is frozen, and a short frost harms no call', async () => {
    const { gateway, proxy } = await startBehindProxy();
    proxy.freeze();
    let isAnswered = false;
    const waiting = chat(gateway).finally(() => {
      isAnswered = true;
    });
    await expect.poll(() => readiness(gateway)).toEqual(notReady('unavailable'));
    expect(isAnswered).toBe(false);
    proxy.thaw();
    expect((await waiting).status).toBe(200);
  });

  it('a call is put off when it stays frozen', async () => {
    const { gateway, proxy } = await startBehindProxy();
    proxy.freeze();
    await expectPutOff(await chat(gateway));
    proxy.thaw();
  });

  it('a job that waits too long for a lock is put off, over MCP too', async () => {
    const { gateway, databaseUrl } = await startBehindProxy();
    const locker = new Client({ connectionString: databaseUrl });
    await locker.connect();
    try {
      await locker.query('begin');
      await locker.query('lock table jobs in exclusive mode');
      const refused = toolRefusal(gateway);
      await expectPutOff(await chat(gateway));
      expect(await refused).toEqual(putOff);
    } finally {
      await locker.end();
    }
    expect((await chat(gateway)).status).toBe(200);
  });
});

describe('when a thread of the embedded store has ended', () => {
  it('calls and readiness are 503, over MCP too, and what is read goes on', async () => {
    const workers: Worker[] = [];
    const note = (worker: Worker): void => void workers.push(worker);
    process.on('worker', note);
    const gateway = await startTestGateway();
    process.off('worker', note);
    onTestFinished(() => gateway.stop());
    await whenSearchReady(gateway);
    expect((await ask(gateway, '/v1/balance')).status).toBe(200);
    await workers[0]?.terminate();
    await expectPutOff(await chat(gateway));
    expect(await toolRefusal(gateway)).toEqual(putOff);
    await expect.poll(() => readiness(gateway)).toEqual(notReady('unavailable'));
    expect((await ask(gateway, '/v1/balance')).status).toBe(200);
  });
});

/** Runs the words behind it with a small disk at DATA_DIR, which needs no rights where user namespaces are allowed. */
const onSmallDisk = [
  'unshare',
  '--map-root-user',
  '--mount',
  'sh',
  '-c',
  'mount -t tmpfs -o size=24m tmpfs "$DATA_DIR" && exec "$@"',
  'sh',
];
const hasSmallDisks = (): boolean => {
  try {
    const [command, ...words] = [...onSmallDisk, 'true'] as const;
    execFileSync(command, words, { env: { ...process.env, DATA_DIR: tmpdir() }, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};
/** Runs the words behind it with files of 1 MiB at most. */
const withSmallFiles = ['sh', '-c', 'ulimit -S -f 2048 && exec "$@"', 'sh'];

describe('while the disk takes no more', () => {
  const startOnDisk = async (
    through: readonly string[],
  ): Promise<{ gateway: GatewayProcess; dataDir: string }> => {
    const dataDir = await mkdtemp(join(tmpdir(), 'causeway-disk-'));
    const gateway = await startGatewayProcess(
      { DATA_DIR: dataDir, LOG_LEVEL: 'silent', SYNTHETIC_PROFILES: '500' },
      through,
    );
    onTestFinished(async () => {
      await gateway.kill();
      await rm(dataDir, { recursive: true, force: true });
    });
    await expect.poll(() => readiness(gateway), { timeout: 60_000 }).toMatchObject({ status: 200 });
    return { gateway, dataDir };
  };

  /** Fills the small disk, which only the gateway's own view of the file system has; answers the file that does. */
  const fillDisk = async (gateway: GatewayProcess, dataDir: string): Promise<string> => {
    const filler = join(`/proc/${gateway.pid}/root`, dataDir, 'filler');
    await expect(writeFile(filler, Buffer.alloc(32 * 1024 ** 2))).rejects.toThrow('ENOSPC');
    return filler;
  };

  const expectNoNewWork = async (gateway: Gateway): Promise<void> => {
    await expectPutOff(await chat(gateway));
    const image = { model: 'imagemodel-1.0', prompt: 'a fox' };
    await expectPutOff(await ask(gateway, '/v1/images/generations?async=true', { body: image }));
    const video = { model: 'videomodel-2.0', prompt: 'a fox' };
    await expectPutOff(await ask(gateway, '/v1/videos', { body: video }));
    expect(await toolRefusal(gateway)).toEqual(putOff);
  };

  it.runIf(hasSmallDisks())(
    'new work is 503 and readiness names the cause, until there is room',
    async () => {
      const { gateway, dataDir } = await startOnDisk(onSmallDisk);
      const made = (await (await chat(gateway)).json()) as { id: string };
      expect((await chat(gateway)).status).toBe(200);
      const filler = await fillDisk(gateway, dataDir);
      await expect.poll(() => readiness(gateway), { timeout: 60_000 }).toEqual(notReady('disk_full'));
      await expectNoNewWork(gateway);
      for (const path of [
        `/v1/jobs/${made.id}`,
        '/v1/jobs?limit=1',
        '/v1/balance',
        '/v1/models',
        '/v1/usage',
        '/docs',
      ])
        expect([path, (await ask(gateway, path)).status]).toEqual([path, 200]);
      expect(await webhookSecret(gateway)).toBeNull();
      await rm(filler);
      await expect.poll(() => readiness(gateway), { timeout: 60_000 }).toMatchObject({ status: 200 });
      expect((await chat(gateway)).status).toBe(200);
      expect(await webhookSecret(gateway)).toMatch(/^whsec_/);
    },
  );

  it.runIf(hasSmallDisks())('an input for which there is no room is 503', async () => {
    const { gateway, dataDir } = await startOnDisk(onSmallDisk);
    const filler = await fillDisk(gateway, dataDir);
    // Room for the job, and too little for its picture.
    const { size } = await stat(filler);
    await truncate(filler, size - 1024 ** 2);
    const noise = { raw: { width: 1_000, height: 1_000, channels: 3 } } as const;
    const png = await sharp(randomBytes(3_000_000), noise).png().toBuffer();
    const image = `data:image/png;base64,${png.toString('base64')}`;
    const edit = { model: 'imagemodel-1.0', prompt: 'a fox', image };
    await expectPutOff(await ask(gateway, '/v1/images/generations', { body: edit }));
    expect((await chat(gateway)).status).toBe(200);
  });

  it.skipIf(process.platform === 'win32')('new work is 503 where the file cannot grow', async () => {
    const { gateway } = await startOnDisk(withSmallFiles);
    for (let count = 0; count < 500 && (await chat(gateway)).status === 200; count += 1);
    await expectNoNewWork(gateway);
    await expect.poll(() => readiness(gateway), { timeout: 60_000 }).toEqual(notReady('unavailable'));
    // Nobody has read a balance or a second page of this gateway before.
    for (const path of ['/v1/jobs?limit=1', '/v1/balance'])
      expect([path, (await ask(gateway, path)).status]).toEqual([path, 200]);
  });
});
