import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const right = {
  network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
  wallet: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
  amount: '100000',
};
const ask = (body: object) => gateway.call('/pay/transfer', { apiKey: null, body });

describe('a transfer that is prepared for a wallet of Solana', () => {
  it.each([
    [{ network: 'eip155:84532' }, 'network: must be a network of the terms'],
    [{ wallet: '1'.repeat(31) }, 'wallet: is not an address of the network'],
    [{ amount: '-1' }, 'amount: must be an amount of the terms'],
    [{ amount: undefined }, 'amount: '],
  ])('is refused with the wrong field %j', async (wrong, message) => {
    const answer = await ask({ ...right, ...wrong });
    expect(answer.status).toBe(422);
    expect(((await answer.json()) as { error: { message: string } }).error.message).toContain(message);
  });

  it('is limited by the address of the client', async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask({})));
    expect(answers.some(({ status }) => status === 429)).toBe(true);
  });
});
