import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evmFamily } from '../../src/payments/chains/evm/evm-family.ts';
import { solanaFamily } from '../../src/payments/chains/solana/solana-family.ts';
import { toolRevenue } from '../../src/operator/tools.ts';
import { runVerb } from '../../src/operator/run-verb.ts';
import type { TestGateway } from '../e2e/start-test-gateway.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { startMountingGateway } from './start-mounting-gateway.ts';
import { startToolSale, type ToolSale } from './start-tool-sale.ts';

const keyNames = { base: 'privateKey', solana: 'secretKey' } as const;

describe('a server that sells its tools by x402', () => {
  let seller: ToolSale;
  beforeAll(async () => {
    seller = await startToolSale();
  });
  afterAll(() => seller?.stop());

  describe.each(['base', 'solana'] as const)('on %s', (chain) => {
    let gateway: TestGateway;
    beforeAll(async () => {
      const wallet = await { base: evmFamily, solana: solanaFamily }[chain].createWallet();
      if (chain === 'base') await seller.chains.base.mint(wallet.address as `0x${string}`, 1_000_000n);
      else await seller.chains.solana.mint(wallet.address, 1_000_000n);
      gateway = await startMountingGateway(
        {
          far: {
            url: `${seller.gateway.url}/mcp/tools/shop`,
            private: true,
            prices: { shop__work: 0.025, shop__find: 0.001, shop__fail: 0.06, shop__look: 1 },
            pay: {
              x402: {
                wallet_env: 'WALLET_KEY',
                max_usd_per_call: '0.06',
                max_usd_per_day: '0.07',
                networks: [seller.chains[chain].network],
              },
            },
          },
        },
        { ...seller.chains.environment, WALLET_KEY: String(Reflect.get(wallet, keyNames[chain])) },
      );
      await acceptToolsOf(gateway.services, 'far');
    });
    afterAll(() => gateway?.stop());

    const call = (tool: string, input = {}): Promise<Response> =>
      gateway.call(`/v1/tools/far/shop__${tool}`, { body: { arguments: input } });
    const bought = () => gateway.services.store.listBoughtPayments({ before: null, limit: 10 });

    it('is paid once for a call, which is sold for more', async () => {
      let answer: Response | undefined;
      expect(await seller.charged(async () => (answer = await call('work')))).toBe('0.01');
      expect(await answer?.json()).toEqual({
        content: [{ type: 'text', text: expect.stringMatching(/^run \d+$/) }],
      });
      expect(answer?.headers.get('x-causeway-charge-usd')).toBe('0.025');
      expect(await bought()).toMatchObject([
        {
          state: 'answered',
          upstream: 'mcp_servers.far',
          operation: 'tool',
          jobId: expect.any(String),
          price: 10_000_000n,
          transaction: expect.any(String),
        },
      ]);
    });

    it.each([
      ['costs more than the sale', 'find', { count: 1 }, 'more than the call is sold for, which is 0.001'],
      ['has no price', 'list', { count: 1 }, 'more than the call is sold for, which is 0.00'],
    ])('is not paid for a call that %s', async (_which, tool, input, problem) => {
      const runs = seller.runs(tool);
      let answer: Response | undefined;
      expect(await seller.charged(async () => (answer = await call(tool, input)))).toBe('0.00');
      expect(answer?.headers.get('x-causeway-charge-usd')).toBe('0.00');
      expect(await answer?.json()).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('asks for a payment, which this gateway does not make') }],
      });
      expect(gateway.services.buyer?.problems().get('mcp_servers.far')?.problem).toContain(problem);
      expect([seller.runs(tool) - runs, (await bought()).length]).toEqual([0, 1]);
    });

    it('is a loss where it takes the money and the call fails; then the budget of the day is spent', async () => {
      expect(await seller.charged(async () => expect((await call('fail')).status).toBe(200))).toBe('0.05');
      expect(await seller.charged(async () => void (await call('work')))).toBe('0.01');
      expect(await seller.charged(async () => void (await call('work')))).toBe('0.00');
      expect(gateway.services.buyer?.problems().get('mcp_servers.far')?.problem).toContain(
        'budget of the day',
      );
      const { store, clock, config } = gateway.services;
      const services = { store, clock, brand: config.brand, config: async () => config };
      const caller = { actor: 'cli:tests', actorLabel: null, role: 'read', requestId: null } as const;
      const { tools } = await runVerb(toolRevenue, async () => ({}), caller, services);
      const sums = tools.map(({ tool, income_usd, cost_usd, loss_usd, margin_usd }) => [
        ...[tool, income_usd, cost_usd, loss_usd, margin_usd],
      ]);
      expect(sums).toEqual([
        ['shop__fail', '0.00', '0.05', '0.05', '-0.05'],
        ['shop__find', '0.00', '0.00', '0.00', '0.00'],
        ['shop__list', '0.00', '0.00', '0.00', '0.00'],
        ['shop__work', '0.05', '0.02', '0.00', '0.03'],
      ]);
      expect(await store.checkLedger()).toMatchObject({ problems: [], openHolds: 0 });
    });
  });
});
