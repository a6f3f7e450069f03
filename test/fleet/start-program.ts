import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** A folder with unpacked Debian packages. Without it, the programs are on the PATH. */
const folder = process.env['FLEET_PROGRAMS'];
const libraries = folder === undefined ? [] : globSync(join(folder, 'usr/lib/*-linux-gnu'));

const startTimeoutMs = 10_000;

const accepts = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
};

/** Starts a program and waits until it listens on `port`. Returns a function that ends it. */
export const startProgram = async (
  name: 'nginx' | 'pgbouncer',
  { args, port }: { args: string[]; port: number },
): Promise<() => Promise<void>> => {
  const child = spawn(folder === undefined ? name : join(folder, 'usr/sbin', name), args, {
    env: { PATH: process.env['PATH'], LD_LIBRARY_PATH: libraries.join(':') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let isEnded = false;
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => (output = (output + part.toString()).slice(-10_000)));
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      output += error.message;
      resolve();
    });
    child.once('close', () => resolve());
  }).then(() => (isEnded = true));
  const endWithUs = (): void => void child.kill();
  process.once('exit', endWithUs);
  const deadline = performance.now() + startTimeoutMs;
  while (!(await accepts(port))) {
    if (isEnded || performance.now() > deadline) {
      endWithUs();
      throw new Error(
        `${name} does not run: ${output}\nInstall it, or name a folder with it in FLEET_PROGRAMS (CONTRIBUTING.md).`,
      );
    }
    await delay(20);
  }
  return async () => {
    process.removeListener('exit', endWithUs);
    child.kill();
    await ended;
  };
};
