import { afterEach, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';
import { startStubFacilitator, type StubFacilitator } from '../mcp/stub-facilitator.ts';

let gateway: TestGateway | null = null;
let facilitator: StubFacilitator | null = null;
afterEach(async () => {
  await gateway?.stop();
  await facilitator?.close();
  gateway = facilitator = null;
});

const start = async (environment: Record<string, string> = {}): Promise<TestGateway> =>
  (gateway = await startTestGateway({
    environment: { PUBLIC_URL: 'https://leads.example', X402_NETWORKS: 'eip155:84532', ...environment },
  }));

interface Manifest {
  lastUpdated: number;
  items: { type: string; price?: object; accepts: object[]; input: { routeTemplate?: string } }[];
}

const read = async ({ call }: TestGateway): Promise<Manifest> => {
  const answer = await call('/.well-known/x402', { apiKey: null });
  return (await answer.json()) as Manifest;
};

describe('the manifest', () => {
  it('says what is sold where, and no price while no network can be reached', async () => {
    const manifest = await read(await start({ X402_FACILITATOR_URL: 'http://127.0.0.1:1' }));
    expect(manifest).toMatchObject({
      version: 1,
      x402Version: 2,
      resources: ['https://leads.example/v1/search'],
      items: [
        {
          type: 'http',
          resource: { url: 'https://leads.example/v1/search', serviceName: 'Causeway' },
          accepts: [],
          input: { method: 'GET', queryParams: { type: 'object' } },
        },
        {
          type: 'mcp',
          resource: { url: 'https://leads.example/mcp' },
          input: { toolName: 'search_leads', transport: 'streamable-http' },
        },
      ],
      openapi: 'https://leads.example/openapi.json',
      mcp: 'https://leads.example/mcp',
      instructions: expect.stringMatching(/^No payment network can be reached now\. /),
    });
    expect(JSON.stringify(manifest)).not.toMatch(/"price"|0\.10/);
  });

  it('is made once, and anew with prices when a network can be reached', async () => {
    facilitator = await startStubFacilitator();
    const started = await start({ X402_FACILITATOR_URL: facilitator.url });
    await expect.poll(async () => (await read(started)).items[0]?.accepts).toHaveLength(1);
    const manifest = await read(started);
    expect(manifest.items[0]?.price).toEqual({ currency: 'USD', min: '0.10', max: '0.26' });
    expect(await read(started)).toEqual(manifest);
  });

  it('tells no price that no network takes', async () => {
    facilitator = await startStubFacilitator('eip155:97');
    const started = await start({
      X402_FACILITATOR_URL: facilitator.url,
      X402_NETWORKS: 'eip155:97',
      X402_EVM_PAY_TO: `0x${'b'.repeat(40)}`,
      WALLET_ACCOUNTS: 'on',
    });
    await expect.poll(async () => (await read(started)).items[0]?.accepts).toHaveLength(1);
    const topUp = (await read(started)).items.find(({ input }) => input.routeTemplate === '/v1/topup');
    // The store keeps amounts of 18 decimals up to 9.22 USD.
    expect(topUp?.price).toEqual({ currency: 'USD', min: '0.10', max: '9.223' });
    const statusOf = async (amount: string): Promise<number> =>
      (await started.call('/v1/topup', { apiKey: null, body: { amount_usd: amount } })).status;
    expect(await statusOf('9.22')).toBe(402);
    expect(await statusOf('9.23')).toBe(503);
  });
});
