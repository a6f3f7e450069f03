import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/kit/errors.ts';
import { nanoPerUsd } from '../../src/kit/money.ts';
import { openAccount } from '../mcp/open-account.ts';
import { startTestGateway, whenSearchReady, type TestGateway } from './start-test-gateway.ts';

const mainNetworks = {
  X402_NETWORKS: 'eip155:8453',
  X402_EVM_PAY_TO: `0x${'1'.repeat(40)}`,
  X402_FACILITATOR_URL: 'http://127.0.0.1:9',
};

describe('a start with main networks', () => {
  it.each([
    [{}, 'PUBLIC_URL: is not set'],
    [{ LEADS_SOURCES: 'none', WALLET_ACCOUNTS: 'on' }, 'PUBLIC_URL: is not set'],
    [
      { PUBLIC_URL: 'http://localhost:8402' },
      'PUBLIC_URL: http://localhost:8402 is an address of this machine',
    ],
    [{ PUBLIC_URL: 'https://localhost' }, 'PUBLIC_URL: https://localhost is'],
    [{ PUBLIC_URL: 'https://shop.localhost/api' }, 'PUBLIC_URL: https://shop.localhost/api is'],
    [{ PUBLIC_URL: 'http://127.0.0.2' }, 'PUBLIC_URL: http://127.0.0.2 is'],
    [{ PUBLIC_URL: 'http://[::1]:8402' }, 'PUBLIC_URL: http://[::1]:8402 is'],
    [{ PUBLIC_URL: 'http://0.0.0.0:8402' }, 'PUBLIC_URL: http://0.0.0.0:8402 is'],
  ])('is refused with %j', async (setting, message) => {
    const start = startTestGateway({ environment: { ...mainNetworks, ...setting } });
    await expect(start).rejects.toBeInstanceOf(ConfigError);
    await expect(start).rejects.toThrow(message);
  });

  it('tells by what payments go if wallets alone are sold to', async () => {
    const { services, stop } = await startTestGateway({
      environment: {
        ...mainNetworks,
        LEADS_SOURCES: 'none',
        WALLET_ACCOUNTS: 'on',
        PUBLIC_URL: 'https://shop.example',
      },
    });
    expect(services.notices().join('\n')).toContain('settled by the facilitator at http://127.0.0.1:9');
    await stop();
  });

  it('needs no public address while nothing is sold by payments', async () => {
    const gateway = await startTestGateway({ environment: { ...mainNetworks, LEADS_SOURCES: 'none' } });
    expect((await gateway.services.readiness()).search).toBe('off');
    await gateway.stop();
  });

  describe('at a public address', () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startTestGateway({
        environment: {
          ...mainNetworks,
          PUBLIC_URL: 'https://search.example',
          SEARCH_FROM_BALANCE: 'on',
        },
      });
    });
    afterAll(() => gateway?.stop());

    it('speaks of no test money', () => {
      expect(gateway.services.notices().join('\n')).not.toMatch(/test (?:usdc|money)/i);
    });

    it('lets sandbox credit alone search and count generated profiles, and tells everybody their values', async () => {
      await whenSearchReady(gateway);
      const statuses = async (isSandbox: boolean): Promise<number[]> => {
        const { apiKey } = await openAccount(gateway.services, { amount: nanoPerUsd, isSandbox });
        const ask = async (path: string): Promise<number> => (await gateway.call(path, { apiKey })).status;
        return [
          await ask('/v1/search?query=coffee'),
          await ask('/v1/search?query=coffee&count_only=true'),
          await ask('/v1/search/facets'),
        ];
      };
      expect(await statuses(true)).toEqual([200, 200, 200]);
      expect(await statuses(false)).toEqual([402, 503, 200]);
    });
  });
});

describe('a start with test networks', () => {
  it('needs no public address and says that the money is test money', async () => {
    const gateway = await startTestGateway();
    expect(gateway.services.notices().join('\n')).toContain('payments with test money');
    await gateway.stop();
  });
});
