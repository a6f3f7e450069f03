import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, truncateSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gatewayArguments } from '../../scripts/node-arguments.ts';
import { freePort } from '../limits/listening-port.ts';

let folder: string;
let gateway: ChildProcess | null;
let url: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-log-'));
  gateway = null;
});
afterEach(async () => {
  if (gateway !== null && gateway.exitCode === null) {
    gateway.kill('SIGKILL');
    await once(gateway, 'exit');
  }
  await rm(folder, { recursive: true, force: true });
});

interface Outputs {
  stdin?: 'ignore' | 'pipe';
  stdout: number | 'pipe' | 'ignore';
  stderr: number;
  /** Runs before the gateway, in its shell. */
  prelude?: string;
  args?: readonly string[];
}

/** Starts a gateway through a shell, at a port that is known although nothing of what it prints is read. */
const start = async ({ stdin = 'ignore', stdout, stderr, prelude = ':', args = [] }: Outputs) => {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const words = [process.execPath, ...gatewayArguments, ...args];
  const child = spawn('sh', ['-c', `${prelude}; exec "$@"`, 'sh', ...words], {
    env: {
      PATH: process.env['PATH'],
      DATA_DIR: join(folder, 'data'),
      PORT: String(port),
      LOG_LEVEL: 'debug',
      SYNTHETIC_PROFILES: '0',
    },
    stdio: [stdin, stdout, stderr],
  });
  gateway = child;
  await expect.poll(isAlive, { timeout: 60_000 }).toBe(true);
  return child;
};

const isAlive = async (): Promise<boolean> => {
  try {
    return (await fetch(`${url}/health/live`, { signal: AbortSignal.timeout(5_000) })).ok;
  } catch {
    return false;
  }
};

/** Makes more log lines than fit into any pipe. */
const makeNoise = async (): Promise<void> => {
  for (let round = 0; round < 40; round += 1)
    await Promise.all(
      Array.from({ length: 40 }, async () => {
        const response = await fetch(`${url}/${'x'.repeat(150)}`);
        await response.text();
      }),
    );
};

const stop = async (child: ChildProcess): Promise<number | null> => {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
  return child.exitCode;
};

describe('a log that cannot be written', () => {
  it('on a full device hinders neither the start, nor answers, nor the end', async () => {
    const full = openSync('/dev/full', 'w');
    const child = await start({ stdout: full, stderr: full });
    closeSync(full);
    await makeNoise();
    expect(await isAlive()).toBe(true);
    expect(await stop(child)).toBe(0);
  });

  it('into a pipe that nobody reads loses lines, and nothing else', async () => {
    const fifo = join(folder, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const pipe = openSync(fifo, constants.O_RDWR);
    const child = await start({ stdout: pipe, stderr: pipe });
    await makeNoise();
    expect(await isAlive()).toBe(true);
    expect(await stop(child)).toBe(0);
    closeSync(pipe);
  });

  it('into a pipe whose reader has gone hinders nothing', async () => {
    const fifo = join(folder, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const both = openSync(fifo, constants.O_RDWR);
    const pipe = openSync(fifo, constants.O_WRONLY);
    closeSync(both);
    const child = await start({ stdout: pipe, stderr: pipe });
    closeSync(pipe);
    await makeNoise();
    expect(await isAlive()).toBe(true);
    expect(await stop(child)).toBe(0);
  });

  it('into a file at its size limit is written again when there is room, and tells how many lines were lost', async () => {
    const file = join(folder, 'log');
    const log = openSync(file, 'a');
    const limitBytes = 64 * 1024 ** 2;
    truncateSync(file, limitBytes);
    // In units of 512 bytes; it holds for the store, too, which is far below.
    const prelude = `ulimit -f ${limitBytes / 512}`;
    const child = await start({ stdout: 'ignore', stderr: log, prelude });
    closeSync(log);
    await makeNoise();
    expect(await isAlive()).toBe(true);
    truncateSync(file, 0);
    await isAlive();
    await expect.poll(() => readFile(file, 'utf8')).toContain('request');
    expect(await stop(child)).toBe(0);
    const [first, ...others] = (await readFile(file, 'utf8')).trimEnd().split('\n').map(parseLine);
    expect(first).toMatchObject({ level: 40, msg: expect.stringContaining('were dropped') });
    // Lines that were gathered when there was room again are not lost.
    const written = others.filter(({ msg }) => msg === 'request').length;
    expect(Number(first?.['dropped']) + written).toBeGreaterThanOrEqual(1_600);
    // The last line was flushed before the process ended.
    expect(others.at(-1)).toMatchObject({ msg: expect.stringContaining('draining') });
  });

  it('leaves MCP over stdio alone', async () => {
    const full = openSync('/dev/full', 'w');
    const child = await start({ stdin: 'pipe', stdout: 'pipe', stderr: full, args: ['--stdio'] });
    closeSync(full);
    const initialize = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    };
    let printed = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (printed += text));
    child.stdin?.write(`${JSON.stringify(initialize)}\n`);
    await expect.poll(() => printed).toContain('\n');
    expect(parseLine(printed)).toMatchObject({ id: 1, result: { protocolVersion: '2025-06-18' } });
    const exited = once(child, 'exit');
    child.stdin?.end();
    expect((await exited)[0]).toBe(0);
  });
});

const parseLine = (line: string): Record<string, unknown> => JSON.parse(line) as Record<string, unknown>;
