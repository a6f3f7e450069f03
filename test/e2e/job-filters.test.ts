import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { connectAssistant, image, makeImage, openCustomer, page, tool, type Body } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const idsOf = ({ data }: { data: Body[] }): unknown[] => data.map(({ id }) => id);

const makeKey = async (apiKey: string, limits: object): Promise<{ id: string; key: string }> => {
  const answer = await gateway.call('/v1/keys', { apiKey, body: { label: 'other', ...limits } });
  return (await answer.json()) as { id: string; key: string };
};

describe('the job history', () => {
  it('is filtered by state, kind, model, key, tag and time, alike over REST and MCP', async () => {
    const { apiKey } = await openCustomer(gateway);
    const shop = await makeKey(apiKey, { usage_tag: 'shop' });
    const first = await makeImage(gateway, apiKey);
    const tagged = await makeImage(gateway, shop.key);
    await gateway.call('/v1/images/generations', { apiKey, body: { ...image, prompt: '[sandbox:fail]' } });
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    const [both, one] = [[tagged['id'], first['id']], [tagged['id']]];
    for (const [query, ids] of [
      [{ status: 'done' }, both],
      [{ status: 'done', kind: 'image', model: 'imagemodel-1.0' }, both],
      [{ kind: 'chat' }, []],
      [{ key_id: shop.id }, one],
      [{ tag: 'shop' }, one],
      [{ status: 'done', from: String(tagged['created_at']), to: '2999-01-01' }, one],
      [{ to: '2020-01-01' }, []],
    ] as const) {
      const found = await page(gateway, `/v1/jobs?${String(new URLSearchParams(query))}`, apiKey);
      expect(idsOf(found)).toEqual(ids);
      expect(await tool(assistant, 'list_jobs', query)).toEqual(found);
    }
  });

  it('is filtered page by page', async () => {
    const { apiKey } = await openCustomer(gateway);
    const made = [await makeImage(gateway, apiKey), await makeImage(gateway, apiKey)];
    const newest = await page(gateway, '/v1/jobs?status=done&limit=1', apiKey);
    const older = await page(gateway, `/v1/jobs?status=done&limit=1&cursor=${newest.next_cursor}`, apiKey);
    expect([...idsOf(older), ...idsOf(newest)]).toEqual(made.map(({ id }) => id));
    expect(older.has_more).toBe(false);
  });

  it('tells a key with limits nothing of what other keys made', async () => {
    const { apiKey } = await openCustomer(gateway);
    const other = await makeKey(apiKey, {});
    const limited = await makeKey(apiKey, { budget_day_usd: '1' });
    const made = await makeImage(gateway, limited.key);
    const answer = await gateway.call(`/v1/jobs?key_id=${other.id}`, { apiKey: limited.key });
    expect(answer.status).toBe(422);
    expect(idsOf(await page(gateway, `/v1/jobs?key_id=${limited.id}`, limited.key))).toEqual([made['id']]);
  });
});
