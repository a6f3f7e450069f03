import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../cli/test-database.ts';
import { startTestGateway } from './start-test-gateway.ts';

const database = await createTestDatabase();

describe.skipIf(database === null)('two gateways on one PostgreSQL', () => {
  it('share accounts, jobs and idempotency keys', async () => {
    const environment = { DATABASE_URL: database?.url ?? '' };
    const first = await startTestGateway({ environment });
    const second = await startTestGateway({ environment });
    try {
      // Only the first of them found no account.
      expect(second.apiKey).toBe('');
      const { apiKey } = first;
      const body = { messages: [{ role: 'user', content: '[sandbox:slow=1] hello' }], max_tokens: 100 };
      const headers = { 'idempotency-key': 'one' };
      const answers = await Promise.all(
        [first, second, first, second].map((gateway) =>
          gateway.call('/v1/chat/completions', { body, headers, apiKey }),
        ),
      );
      const ids = await Promise.all(
        answers.map(async (answer) => ((await answer.json()) as { id: string }).id),
      );
      expect(new Set(ids).size).toBe(1);
      const image = { model: 'imagemodel-1.0', prompt: 'from either' };
      const made = (await (await second.call('/v1/images/generations', { body: image, apiKey })).json()) as {
        id: string;
        status: string;
      };
      expect(made.status).toBe('done');
      const seen = await first.call(`/v1/jobs/${made.id}`, { apiKey });
      expect(await seen.json()).toMatchObject({ id: made.id, status: 'done' });
      const slow = { input: '[sandbox:slow=5] hello', instructions: 'Be brief.', stream: true };
      const streamed = { body: slow, headers: { 'idempotency-key': 'two' }, apiKey };
      const live = await first.call('/v1/responses', streamed);
      const id = live.headers.get('x-response-id') ?? '';
      const elsewhere = await second.call(`/v1/responses/${id}`, { apiKey });
      expect(await elsewhere.json()).toMatchObject({ status: 'in_progress', instructions: 'Be brief.' });
      const replayed = await second.call('/v1/responses', streamed);
      expect(replayed.headers.get('x-response-id')).toBe(id);
      const lastOf = async (answer: Response) => (await answer.text()).split('data: ').at(-1)?.trim() ?? '';
      const { response } = JSON.parse(await lastOf(live)) as { response: object };
      expect(response).toMatchObject({ id, status: 'completed' });
      expect(JSON.parse(await lastOf(replayed))).toMatchObject({ type: 'response.completed', response });
      expect(await first.services.store.checkLedger()).toMatchObject({
        problems: [],
        openHolds: 0,
        entries: 4,
      });
    } finally {
      await first.stop();
      await second.stop();
      await database?.drop();
    }
  });
});
