import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startTestGateway } from '../e2e/start-test-gateway.ts';

it('the end of a gateway waits for the background work that is in the middle of a write', async () => {
  const gateway = await startTestGateway();
  onTestFinished(() => gateway.stop());
  const { services } = gateway;
  const begun = Promise.withResolvers<void>();
  const writing = Promise.withResolvers<number>();
  vi.spyOn(services.store, 'tellLowBalances').mockImplementation(() => {
    begun.resolve();
    return writing.promise;
  });
  services.begin();
  await begun.promise;
  const order: string[] = [];
  const closed = services.close().then(() => order.push('closed'));
  await pause(300);
  order.push('written');
  writing.resolve(0);
  await closed;
  expect(order).toEqual(['written', 'closed']);
});
