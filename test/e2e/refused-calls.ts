import { expect } from 'vitest';
import { startTestGateway, whenSearchReady } from './start-test-gateway.ts';

export const envelope = {
  error: { type: expect.any(String), code: expect.any(String), message: expect.any(String) },
};

/** A gateway that counts no calls, with a check that its first account was charged nothing. */
export const startUnlimitedGateway = async () => {
  const gateway = await startTestGateway({
    environment: {
      MAX_BODY_BYTES: '100000',
      SEARCH_RATE_PER_MINUTE: '1000000',
      REQUESTS_PER_MINUTE: '1000000',
      WEBHOOKS: 'off',
    },
  });
  await whenSearchReady(gateway);
  const { store } = gateway.services;
  const firstAccount = (await store.listAccounts({ limit: 1 }))[0]?.id;
  const noMoneyMoved = async (): Promise<void> => {
    const accounts = await store.listAccounts({ limit: 100 });
    expect(accounts.find(({ id }) => id === firstAccount)).toMatchObject({
      balance: 25_000_000_000n,
      held: 0n,
    });
  };
  return { gateway, noMoneyMoved };
};
