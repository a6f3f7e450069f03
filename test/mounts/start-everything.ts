import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { programOf } from './mount-yaml.ts';

export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};

/** Runs the reference server over HTTP, until the test ends or `stop`, which is a kill. */
export const startEverything = async (
  transport: 'streamableHttp' | 'sse',
  port?: number,
): Promise<{ origin: string; stop: () => Promise<void> }> => {
  const chosen = port ?? (await freePort());
  const origin = `http://127.0.0.1:${chosen}`;
  const child = spawn(process.execPath, [programOf('everything'), transport], {
    env: { PORT: String(chosen) },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(stop);
  await expect
    .poll(
      () =>
        fetch(`${origin}/none`).then(
          () => true,
          () => false,
        ),
      { timeout: 60_000 },
    )
    .toBe(true);
  return { origin, stop };
};
