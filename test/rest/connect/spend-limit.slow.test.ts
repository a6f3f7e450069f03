import { describe, expect, it } from 'vitest';
import { nanoPerUsd } from '../../../src/kit/money.ts';
import { createTestDatabase } from '../../cli/test-database.ts';
import { startTestGateway } from '../../e2e/start-test-gateway.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { connectAssistant } from '../../store/connect-assistant.ts';

const database = await createTestDatabase();

describe.skipIf(database === null)('a connection', () => {
  it('never spends more than its limits by 200 calls at once on two gateways', async () => {
    const environment = { DATABASE_URL: database?.url ?? '', REQUESTS_PER_MINUTE: '100000' };
    const gateways = [await startTestGateway({ environment }), await startTestGateway({ environment })];
    const [first, second] = gateways;
    try {
      if (first === undefined || second === undefined) throw new Error('there are two');
      const { services } = first;
      const { accountId } = await openAccount(services, { amount: 25n * nanoPerUsd });
      const now = Date.now();
      // Ten images of four cents by day, and five in all.
      const limits = { budgetDay: (4n * nanoPerUsd) / 10n, budgetTotal: (2n * nanoPerUsd) / 10n };
      const { connectionId, token } = await connectAssistant(services.store, { accountId, now, limits });
      const params = { name: 'create_image', arguments: { model: 'imagemodel-1.0', prompt: 'A pier' } };
      const answers = await Promise.all(
        Array.from({ length: 200 }, async (_, index) => {
          const answer = await (index % 2 === 0 ? first : second).call('/mcp/account', {
            apiKey: token,
            body: { jsonrpc: '2.0', id: index, method: 'tools/call', params },
            headers: { accept: 'application/json, text/event-stream' },
          });
          return answer.text();
        }),
      );
      expect(answers.filter((text) => text.includes('"status":"done"'))).toHaveLength(5);
      // Some of the others find the gateway busy before they reach the limit.
      expect(answers.filter((text) => text.includes('"isError":true'))).toHaveLength(195);
      expect(answers.join()).toContain('budget_total_usd');
      expect(await services.store.getConnection({ id: connectionId, now })).toMatchObject({
        totalSpent: limits.budgetTotal,
        totalHeld: 0n,
      });
      expect(await services.store.checkLedger()).toMatchObject({ problems: [], openHolds: 0 });
    } finally {
      for (const gateway of gateways) await gateway.stop();
      await database?.drop();
    }
  });
});
