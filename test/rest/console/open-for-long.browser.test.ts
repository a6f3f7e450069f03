import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { useChromium } from '../../use-chromium.ts';
import { signInPage } from './console-page.ts';

let gateway: TestGateway;
const visit = useChromium();
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

describe('a console that stays open', () => {
  it('for an hour, while calls are made, takes no more memory', async () => {
    const { apiKey } = await openAccount(gateway.services);
    const page = await visit();
    await page.clock.install();
    await signInPage(page, `${gateway.url}/console`, apiKey);
    await page.getByText('$10.00').waitFor();
    const devTools = await page.context().newCDPSession(page);
    const measure = async () => {
      await devTools.send('HeapProfiler.collectGarbage');
      const { usedSize } = await devTools.send('Runtime.getHeapUsage');
      const { nodes, jsEventListeners } = await devTools.send('Memory.getDOMCounters');
      return { usedSize, nodes, jsEventListeners };
    };
    const passMinutes = async (count: number): Promise<void> => {
      for (let minute = 0; minute < count; minute += 1) {
        const body = {
          model: 'textmodel-3.5-flash',
          messages: [{ role: 'user', content: `minute ${minute}` }],
        };
        expect((await gateway.call('/v1/chat/completions', { apiKey, body })).status).toBe(200);
        const isRead = page.waitForResponse((response) => response.url().endsWith('/console/v1/balance'));
        await page.clock.fastForward(60_000);
        await isRead;
      }
    };
    await passMinutes(10);
    const before = await measure();
    await passMinutes(50);
    const after = await measure();
    expect(after.nodes).toBeLessThanOrEqual(before.nodes * 1.1);
    expect(after.jsEventListeners).toBeLessThanOrEqual(before.jsEventListeners * 1.1);
    expect(after.usedSize).toBeLessThanOrEqual(before.usedSize * 1.2);
  });
});
