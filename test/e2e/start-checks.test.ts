import { describe, expect, it } from 'vitest';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { listenOnLoopback } from '../mcp/listen-on-loopback.ts';
import { createServer } from 'node:http';
import { startTestGateway } from './start-test-gateway.ts';

describe('a start with a Redis that is away and a provider that answers 404', () => {
  it('goes on, and the log names both', async () => {
    const upstream = await listenOnLoopback(
      createServer((_request, response) => response.writeHead(404).end()),
    );
    const { log, lines } = createRecordedLog();
    const gateway = await startTestGateway({
      log,
      environment: { REDIS_URL: 'redis://127.0.0.1:1' },
      yaml: `
providers:
  wrong: { type: openai, base_url: "${upstream.url}" }
models:
  chat-1:
    kind: chat
    price: { unit: token, input_usd_per_1m: 1, output_usd_per_1m: 2 }
    routes: [{ provider: wrong }]
`,
    });
    expect((await gateway.call('/health/live', { apiKey: null })).status).toBe(200);
    await expect
      .poll(() => lines)
      .toEqual(
        expect.arrayContaining([
          expect.objectContaining({ redis: '127.0.0.1:1', msg: expect.stringContaining('REDIS_URL') }),
          expect.objectContaining({ provider: 'wrong', msg: expect.stringContaining('base_url') }),
        ]),
      );
    await gateway.stop();
    await upstream.close();
  });
});
