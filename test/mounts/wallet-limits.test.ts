import { expect, it, onTestFinished } from 'vitest';
import { startToolSale } from './start-tool-sale.ts';

it('a wallet pays for no call beyond those that an account makes in a minute', async () => {
  const sale = await startToolSale({ settings: { calls_per_minute: 2 } });
  onTestFinished(() => sale.stop());
  const wallet = await sale.openWallet();
  const metered = await sale.openWallet('upto');
  for (const [payer, tool] of [
    [wallet, 'work'],
    [metered, 'look'],
  ] as const) {
    for (let count = 0; count < 2; count += 1) expect((await sale.pay(payer, tool)).status).toBe(200);
    const runs = sale.runs(tool);
    let refused: Response | undefined;
    expect(await sale.charged(async () => (refused = await sale.pay(payer, tool)))).toBe('0.00');
    expect([refused?.status, Number(refused?.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect(sale.runs(tool)).toBe(runs);
  }
});
