import { expect, it } from 'vitest';
import { paySettings, readPay } from '../../src/http/pay-settings.ts';
import { parseUsd } from '../../src/kit/money.ts';

const limits = (perCall: unknown, perDay: unknown) =>
  paySettings.safeParse({
    x402: { wallet_env: 'WALLET', max_usd_per_call: perCall, max_usd_per_day: perDay, networks: ['base'] },
  });

it('takes limits as numbers, as prices are taken, and as text', () => {
  const origin = { setting: 'leads.http', environment: { WALLET: '0x1' } };
  for (const [perCall, perDay] of [
    [0.1, 5],
    ['0.10', '5.00'],
  ])
    expect(readPay(limits(perCall, perDay).data, origin)).toMatchObject({
      maxPerCall: parseUsd('0.10'),
      maxPerDay: parseUsd('5.00'),
    });
});

it.each([0, -1, 1e-10, '0.00', 'a dollar', null])('refuses a limit of %j', (perDay) => {
  expect(limits('0.10', perDay).error?.issues).toMatchObject([{ path: ['x402', 'max_usd_per_day'] }]);
});
