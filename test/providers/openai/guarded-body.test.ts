import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { expect, it, vi } from 'vitest';
import { startDeadlines } from '../../../src/providers/openai/deadlines.ts';
import { guardedBody } from '../../../src/providers/openai/guarded-body.ts';

it('refuses an answer that is too large without an error beside, also when all of it has come already', async () => {
  const server = createServer((_, response) => response.end('x'.repeat(3000)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const agent = new Agent();
  const uncaught = vi.fn<(error: unknown) => void>();
  process.on('uncaughtException', uncaught);
  try {
    const deadlines = startDeadlines(
      { connectMs: 1000, firstByteMs: 5000, idleMs: 5000, totalMs: 5000 },
      null,
    );
    const { body } = await request(`http://127.0.0.1:${port}/`, { dispatcher: agent });
    const read = async (): Promise<void> => {
      for await (const chunk of guardedBody(body, deadlines, { totalBytes: 2048, lineBytes: null }))
        expect(chunk.length).toBeLessThanOrEqual(2048);
    };
    await expect(read()).rejects.toThrow('too large');
    await delay(50);
    expect(uncaught).not.toHaveBeenCalled();
  } finally {
    process.off('uncaughtException', uncaught);
    await agent.destroy();
    server.close();
  }
});
