import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/kit/errors.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const mainNetworks = {
  X402_NETWORKS: 'eip155:8453',
  X402_EVM_PAY_TO: `0x${'1'.repeat(40)}`,
  X402_FACILITATOR_URL: 'http://127.0.0.1:9',
};

describe('a start with main networks', () => {
  it.each([
    [{}, 'PUBLIC_URL: is not set'],
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

  it('needs no public address while the search is switched off', async () => {
    const gateway = await startTestGateway({ environment: { ...mainNetworks, LEADS_SOURCES: 'none' } });
    expect((await gateway.services.readiness()).search).toBe('off');
    await gateway.stop();
  });

  describe('at a public address', () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startTestGateway({
        environment: { ...mainNetworks, PUBLIC_URL: 'https://search.example' },
      });
    });
    afterAll(() => gateway?.stop());

    it('speaks of no test money', () => {
      expect(gateway.services.notices().join('\n')).not.toMatch(/test (?:usdc|money)/i);
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
