import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './listening-port.ts';

/** A redis-server of the test's own, which may be killed, frozen and started again at the same address. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  start(): Promise<void>;
  /** Ends it without a farewell; its data are lost. */
  kill(): Promise<void>;
  /** Leaves its connections open and answers nothing. */
  freeze(): void;
  thaw(): void;
  /** Kills it and removes its folder. */
  remove(): Promise<void>;
}

export const createRedisServer = async (): Promise<RedisServer> => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-redis-'));
  const port = await freePort();
  let child: ChildProcess | null = null;

  const kill = async (): Promise<void> => {
    const running = child;
    child = null;
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
    const exit = once(running, 'exit');
    running.kill('SIGKILL');
    await exit;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    async start() {
      const address = ['--port', `${port}`, '--bind', '127.0.0.1'];
      child = spawn('redis-server', [...address, '--dir', folder, '--save', '', '--appendonly', 'no']);
      await untilReady(child);
    },
    kill,
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    async remove() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

const untilReady = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('Ready to accept connections')) resolve();
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`redis-server ended: ${output}`)));
  });
