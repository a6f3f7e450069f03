import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { decodeBase64Json, encodeBase64Json } from '../../src/payments/chains/core/wire.ts';
import { listenOnLoopback, type Listening } from '../mcp/listen-on-loopback.ts';
import { stubNetwork, stubPayer } from '../mcp/stub-facilitator.ts';
import { toProof } from '../mcp/to-proof.ts';
import { startTestGateway, whenSearchReady, type TestGateway } from './start-test-gateway.ts';

/** Finds every payment good, and never ends a settlement. */
const startSlowFacilitator = (): Promise<Listening> => {
  const answers: Record<string, object> = {
    '/supported': { kinds: [{ x402Version: 2, scheme: 'exact', network: stubNetwork }] },
    '/verify': { isValid: true, payer: stubPayer },
  };
  return listenOnLoopback(
    createServer((request, response) => {
      request.resume();
      const answer = answers[request.url ?? ''];
      if (answer !== undefined) response.end(JSON.stringify(answer));
    }),
  );
};

let facilitator: Listening;
let gateway: TestGateway;
beforeAll(async () => {
  facilitator = await startSlowFacilitator();
  gateway = await startTestGateway({
    environment: {
      X402_NETWORKS: stubNetwork,
      X402_FACILITATOR_URL: facilitator.url,
      X402_EVM_RPC_URL: 'http://127.0.0.1:9',
      X402_SETTLE_MS: '1234',
    },
  });
  await whenSearchReady(gateway);
});
afterAll(async () => {
  await gateway?.stop();
  await facilitator?.close();
});

describe('a settlement that does not end', () => {
  it('is pending after the time that the operator sets', async () => {
    const limits = vi.spyOn(AbortSignal, 'timeout');
    const unpaid = await gateway.call('/v1/search?limit=1', { apiKey: null });
    const proof = toProof(decodeBase64Json(unpaid.headers.get('payment-required') ?? ''));
    const pending = await gateway.call('/v1/search?limit=1', {
      apiKey: null,
      headers: { 'payment-signature': encodeBase64Json(proof) },
    });
    expect(pending.status).toBe(503);
    expect(await pending.json()).toMatchObject({ error: { code: 'payment_pending' } });
    expect(limits).toHaveBeenCalledWith(1_234);
  });
});
