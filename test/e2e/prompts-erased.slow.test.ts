import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { connectAssistant, tool } from './account-calls.ts';
import { startTestGateway } from './start-test-gateway.ts';

const marker = 'lighthouse-of-a-secret-customer';
/** Longer than a page of the store, so that pages are freed when the job ends. */
const prompt = `${marker} `.repeat(100);

/** The files below a folder that have the marker; those that go meanwhile have nothing. */
const filesWithMarker = async (folder: string): Promise<string[]> => {
  const names = await readdir(folder, { recursive: true });
  const found = await Promise.all(
    names.map(async (name) => {
      const bytes = await readFile(join(folder, name)).catch(() => Buffer.alloc(0));
      return bytes.includes(marker) ? [name] : [];
    }),
  );
  return found.flat();
};

it('a prompt is in no file of the data folder soon after its job has ended', async () => {
  const gateway = await startTestGateway();
  onTestFinished(() => gateway.stop());
  const assistant = await connectAssistant(gateway, gateway.apiKey);
  onTestFinished(() => assistant.close());
  const begin = async (path: string, body: object): Promise<string> =>
    ((await (await gateway.call(path, { body })).json()) as { id: string }).id;
  const video = { model: 'videomodel-2.0', duration: 4, resolution: '480p' };
  const slow = `[sandbox:slow=2] ${prompt}`;
  const jobs = [
    await begin('/v1/images/generations?async=true', { model: 'imagemodel-1.0', prompt: slow }),
    await begin('/v1/images/generations?async=true', {
      model: 'imagemodel-1.0',
      prompt: `[sandbox:fail] ${prompt}`,
    }),
    await begin('/v1/videos', { ...video, prompt: slow }),
    await begin('/v1/videos', { ...video, prompt: `[sandbox:fail] ${prompt}` }),
  ];
  expect(await filesWithMarker(gateway.dataDir)).toContain('causeway.db-wal');
  for (const job_id of jobs)
    await vi.waitFor(
      async () => {
        const { status } = await tool(assistant, 'get_job', { job_id, wait_ms: 20_000 });
        expect(['done', 'failed']).toContain(status);
      },
      { timeout: 90_000 },
    );
  const body = { messages: [{ role: 'user', content: prompt }], max_tokens: 20 };
  expect((await gateway.call('/v1/chat/completions', { body })).status).toBe(200);
  await vi.waitFor(async () => expect(await filesWithMarker(gateway.dataDir)).toEqual([]), {
    timeout: 60_000,
    interval: 500,
  });
  // The gateway still works on these files, whose log was emptied under it.
  expect((await gateway.services.store.checkLedger()).problems).toEqual([]);
});
