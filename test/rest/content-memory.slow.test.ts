import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const mebibyte = 1024 ** 2;
const size = 300 * mebibyte;

describe('a video of 300 MiB', () => {
  let folder: string;
  let child: ReturnType<typeof fork>;
  let url: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'causeway-memory-'));
    const script = fileURLToPath(new URL('./content-process.ts', import.meta.url));
    child = fork(script, [folder, String(size)], { execArgv: [] });
    [url] = (await once(child, 'message')) as [string];
  });
  afterAll(async () => {
    const ended = once(child, 'exit');
    child.disconnect();
    await ended;
    await rm(folder, { recursive: true, force: true });
  });

  const memory = async (): Promise<number> => {
    const answered = once(child, 'message');
    child.send('memory');
    return ((await answered) as [number])[0];
  };

  const open = async (): Promise<IncomingMessage> => {
    const [answer] = (await once(get(url), 'response')) as [IncomingMessage];
    return answer;
  };

  it('takes no more memory for many slow readers, nor for one that reads it all', async () => {
    const warm = await open();
    warm.destroy();
    const before = await memory();
    const slow = await Promise.all(Array.from({ length: 20 }, open));
    const last = slow.pop();
    let most = 0;
    let read = 0;
    for await (const chunk of last ?? []) {
      const hasPassed =
        Math.floor((read + chunk.length) / (50 * mebibyte)) > Math.floor(read / (50 * mebibyte));
      read += chunk.length;
      if (hasPassed) most = Math.max(most, await memory());
    }
    for (const reader of slow) reader.destroy();
    expect(read).toBe(size);
    // Twenty times a few buffers of 64 KiB, and what the garbage collector leaves lying about: far below one video.
    expect(most - before).toBeLessThan(100 * mebibyte);
  });
});
