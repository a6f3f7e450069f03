import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { embeddedStoreFile } from '../../src/store/open-store.ts';
import { startHttp } from '../http/local-hosts.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({
    environment: { WALLET_ACCOUNTS: 'on', ALLOW_LOOPBACK_URLS: 'true' },
  });
});
afterAll(() => gateway.stop());

const text = 'How high is the tide?';

/** Calls of every kind that is sold without a key. They name inputs where they can. */
const kinds: [string, (picture: string) => unknown][] = [
  ['/v1/topup', () => ({ amount_usd: '1.00' })],
  [
    '/v1/chat/completions',
    (url) => ({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    }),
  ],
  ['/v1/responses', () => ({ input: text })],
  ['/v1/search', () => undefined],
  ['/v1/images/generations', (image) => ({ model: 'imagemodel-1.0', prompt: text, image })],
  [
    '/v1/videos',
    (url) => ({
      model: 'videomodel-2.0',
      content: [
        { type: 'text', text },
        { type: 'image_url', image_url: { url }, role: 'first_frame' },
      ],
    }),
  ],
];

const tables = ['accounts', 'api_keys', 'payments', 'jobs', 'ledger_entries', 'holds', 'media'];

const countRows = (): Record<string, unknown> => {
  const store = new DatabaseSync(embeddedStoreFile(gateway.dataDir), { readOnly: true });
  try {
    return Object.fromEntries(
      tables.map((table) => [table, store.prepare(`select count(*) as rows from ${table}`).get()?.['rows']]),
    );
  } finally {
    store.close();
  }
};

describe('unpaid calls without a key', () => {
  it.each(kinds)('to %s are refused after some from one address, and leave nothing', async (path, bodyOf) => {
    let downloads = 0;
    const host = await startHttp((_request, response) => {
      downloads += 1;
      response.writeHead(404).end();
    });
    const body = bodyOf(`${host}/picture.png`);
    const before = countRows();
    const statuses: number[] = [];
    for (let index = 0; index < 200; index += 1) {
      const answer = await gateway.call(path, { apiKey: null, body });
      await answer.arrayBuffer();
      statuses.push(answer.status);
    }
    expect(new Set(statuses)).toEqual(new Set([402, 429]));
    expect(statuses.indexOf(429)).toBeGreaterThanOrEqual(60);
    expect(countRows()).toEqual(before);
    expect(downloads).toBe(0);
  });

  it('have small bodies, so that strangers use up no memory', async () => {
    const body = { messages: [{ role: 'user', content: 'x'.repeat(64 * 1024) }] };
    const refused = await gateway.call('/v1/chat/completions', { apiKey: null, body });
    expect(refused.status).toBe(413);
    expect(await refused.text()).toContain('A call with a key may be larger.');
    expect((await gateway.call('/v1/chat/completions', { body })).status).toBe(200);
  });
});
