import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { issueKey } from '../../src/accounts/keys.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { clientKinds, type TestClient, type ToolResult } from '../mcp/clients.ts';
import { startToolSale, toolPath, toolSaleEngines, type ToolSale } from './start-tool-sale.ts';

const engines = await toolSaleEngines();
afterAll(() => engines.drop());

const textOf = async (answer: Response): Promise<string | undefined> => {
  const { content } = (await answer.json()) as { content: { text: string }[] };
  return content[0]?.text;
};
const codeOf = async (answer: Response): Promise<unknown> => {
  const { error } = (await answer.json()) as { error: { code?: unknown } };
  return error.code;
};
const chargeOf = (answer: Response): string | null => answer.headers.get('x-causeway-charge-usd');
const errorOf = ({ structuredContent }: ToolResult): unknown =>
  (structuredContent?.['error'] as { code?: unknown } | undefined)?.code;

describe.each(engines.all)('a mounted tool on $engine', ({ databaseUrl }) => {
  let sale: ToolSale;
  let agent: TestClient;
  beforeAll(async () => {
    sale = await startToolSale({ databaseUrl });
    agent = await clientKinds[2]!.connect(`${sale.gateway.url}/mcp/tools`, null);
  });
  afterAll(async () => {
    await agent?.close();
    await sale?.stop();
  });
  it.each(['openWallet', 'openSolanaWallet'] as const)(
    'is paid by a wallet over REST, whose rest of the payment is balance (%s)',
    async (open) => {
      const wallet = await sale[open]();
      const before = sale.runs('work');
      const unpaid = await sale.ask('work');
      expect([unpaid.status, await unpaid.json()]).toMatchObject([
        402,
        {
          x402: { amount: '0.01' },
          accepts: Array.from({ length: 2 }, () => ({
            resource: sale.gateway.url + toolPath('work'),
            description: 'Tool call',
          })),
          quote: { server: 'shop', tool: 'work', unit: 'call', price_usd: '0.002', most_usd: '0.002' },
        },
      ]);
      let answer: Response | undefined;
      const paid = await sale.charged(async () => (answer = await sale.pay(wallet, 'work')));
      expect([paid, answer?.status, answer && chargeOf(answer)]).toEqual(['0.01', 200, '0.002']);
      expect(answer?.headers.has('payment-response')).toBe(true);
      expect(await sale.balanceOf(wallet)).toBe('0.008');
      const text = answer && (await textOf(answer));
      const headers = { 'payment-signature': wallet.proof };
      const again = await sale.charged(async () => {
        const repeated = await sale.ask('work', {}, { headers });
        expect(repeated.headers.get('idempotent-replayed')).toBe('true');
        expect(await textOf(repeated)).toBe(text);
        const other = await sale.ask('work', { count: 1 }, { headers });
        expect([other.status, await codeOf(other)]).toEqual([409, 'payment_conflict']);
      });
      expect([again, sale.runs('work') - before]).toEqual(['0.00', 1]);
    },
  );

  it('is listed without a key, and paid over MCP, once for the same proof', async () => {
    const wallet = await sale.openWallet();
    const before = sale.runs('work');
    expect((await agent.listTools()).map(({ name }) => name)).toContain('shop__work');
    expect(agent.instructions()).toContain('Without a key');
    const unpaid = await agent.callTool('shop__work');
    expect(unpaid.structuredContent).toMatchObject({
      resource: { url: `${sale.gateway.url}/mcp/tools`, description: 'Tool call' },
    });
    const meta = await sale.prove(wallet, unpaid);
    const paid = await sale.charged(async () => {
      const first = await agent.callTool('shop__work', {}, { meta });
      expect([first.isError, first.content[0]?.text]).toEqual([false, expect.stringMatching(/^run \d+$/)]);
      expect(first._meta).toMatchObject({
        'causeway/charge-usd': '0.002',
        'x402/payment-response': { success: true },
      });
      const again = await agent.callTool('shop__work', {}, { meta });
      expect(again.content).toEqual(first.content);
      expect(again._meta).toMatchObject({ 'causeway/idempotent-replayed': true });
      const own = await clientKinds[0]!.connect(`${sale.gateway.url}/mcp/tools/shop`, null);
      const other = await own.callTool('shop__find', { count: 1 }, { meta });
      expect([other.isError, errorOf(other)]).toEqual([true, 'payment_conflict']);
      await own.close();
    });
    expect([paid, await sale.balanceOf(wallet), sale.runs('work') - before]).toEqual(['0.01', '0.008', 1]);
  });

  it('that fails costs a wallet nothing: its payment is balance', async () => {
    const wallet = await sale.openWallet();
    const paid = await sale.charged(async () => {
      const failed = await sale.pay(wallet, 'fail');
      expect([failed.status, chargeOf(failed), await failed.json()]).toMatchObject([
        200,
        '0.00',
        { isError: true },
      ]);
    });
    expect([paid, await sale.balanceOf(wallet)]).toEqual(['0.05', '0.05']);
  });

  it('with an unknown outcome costs nothing, and its proof never runs it again', async () => {
    const wallet = await sale.openWallet();
    const before = sale.runs('die');
    const lost = await sale.pay(wallet, 'die');
    expect(lost.status).toBe(502);
    const { error } = (await lost.json()) as { error: { code: string; message: string } };
    expect(error.code).toBe('outcome_unknown');
    expect(error.message).toMatch(/is balance of the wallet's account, which a sign-in opens\.$/);
    const again = await sale.ask('die', {}, { headers: { 'payment-signature': wallet.proof } });
    expect(await codeOf(again)).toBe('outcome_unknown');
    expect([sale.runs('die') - before, await sale.balanceOf(wallet)]).toEqual([1, '0.05']);
    // The server is started again for the tests that follow.
    await expect
      .poll(async () => (await sale.ask('work', {}, { apiKey: sale.apiKey })).status, { timeout: 30_000 })
      .toBe(200);
  });

  it('answers the first job to a second proof with its Idempotency-Key, which is not settled', async () => {
    const wallet = await sale.openWallet();
    const headers = { 'idempotency-key': 'work-1' };
    const first = await textOf(await sale.pay(wallet, 'work', {}, headers));
    const paid = await sale.charged(async () => {
      const second = await sale.pay(wallet, 'work', {}, headers);
      expect([second.status, await textOf(second)]).toEqual([200, first]);
    });
    expect([paid, await sale.balanceOf(wallet)]).toEqual(['0.00', '0.008']);
  });

  it('that did not run after its payment runs for the same proof later, and is paid once', async () => {
    const wallet = await sale.openWallet();
    const before = sale.runs('work');
    const open = vi
      .spyOn(sale.gateway.services.store, 'openJob')
      .mockRejectedValueOnce(new StoreError('unavailable', 'the store is away'));
    const paid = await sale.charged(async () => {
      expect((await sale.pay(wallet, 'work')).status).toBe(503);
      open.mockRestore();
      const later = await sale.ask('work', {}, { headers: { 'payment-signature': wallet.proof } });
      expect(later.status).toBe(200);
    });
    expect([paid, await sale.balanceOf(wallet), sale.runs('work') - before]).toEqual(['0.01', '0.008', 1]);
  });

  it.each([
    ['before the payment is settled', 1, '0.00', '0.00'],
    ['after it', 2, '0.01', '0.01'],
  ] as const)(
    'that is taken back %s does not run, and no money is lost',
    async (_when, looks, paid, rest) => {
      const wallet = await sale.openWallet();
      const before = sale.runs('work');
      const { mounts } = sale.gateway.services;
      const offered = await mounts.offered();
      const look = vi.spyOn(mounts, 'offered').mockResolvedValue([]);
      // The unpaid request looks once; the paid one at its price, before its settlement, and before it runs.
      for (let index = 0; index < looks + 1; index += 1) look.mockResolvedValueOnce(offered);
      const charged = await sale.charged(async () => {
        const refused = await sale.pay(wallet, 'work');
        expect([refused.status, await codeOf(refused)]).toEqual([404, 'tool_not_found']);
      });
      look.mockRestore();
      expect([charged, await sale.balanceOf(wallet), sale.runs('work') - before]).toEqual([paid, rest, 0]);
    },
  );

  it('is not paid for by an account that has as many calls of its server as it may', async () => {
    const wallet = await sale.openWallet();
    await sale.pay(wallet, 'work');
    const { mounts, store } = sale.gateway.services;
    const account = await store.findWalletAccount({ wallet: wallet.name, isSandbox: true });
    const before = sale.runs('work');
    const caller = { accountId: account?.id ?? '' };
    const turns = Array.from({ length: 32 }, () => mounts.takeTurn({ server: 'shop', price: 1n }, caller));
    const paid = await sale.charged(async () => {
      const refused = await sale.pay(wallet, 'work');
      expect([refused.status, await codeOf(refused)]).toEqual([429, 'too_many_active_jobs']);
      turns.forEach((release) => release?.());
    });
    expect([paid, sale.runs('work') - before]).toEqual(['0.00', 0]);
  });

  it('that has no room after its payment runs for the same proof later, as the refusal says', async () => {
    const wallet = await sale.openWallet();
    const before = sale.runs('work');
    const { mounts } = sale.gateway.services;
    const take = vi.spyOn(mounts, 'takeTurn').mockReturnValueOnce(() => undefined);
    take.mockReturnValueOnce(null);
    const paid = await sale.charged(async () => {
      const refused = await sale.pay(wallet, 'work');
      const { error } = (await refused.json()) as { error: { code: string; message: string } };
      expect([refused.status, error.code]).toEqual([429, 'too_many_active_jobs']);
      expect(error.message).toContain('send the same request with the same payment proof again');
      take.mockRestore();
      const later = await sale.ask('work', {}, { headers: { 'payment-signature': wallet.proof } });
      expect(later.status).toBe(200);
    });
    expect([paid, await sale.balanceOf(wallet), sale.runs('work') - before]).toEqual(['0.01', '0.008', 1]);
  });

  it('that was paid for answers the same proof when it is not offered any more', async () => {
    const wallet = await sale.openWallet();
    const made = await textOf(await sale.pay(wallet, 'work'));
    const { mounts } = sale.gateway.services;
    const look = vi.spyOn(mounts, 'offered').mockResolvedValue([]);
    const headers = { 'payment-signature': wallet.proof };
    const again = await sale.ask('work', {}, { headers });
    expect([again.status, await textOf(again)]).toEqual([200, made]);
    expect((await sale.ask('work', { count: 1 }, { headers })).status).toBe(404);
    look.mockRestore();
  });

  it('that is taken back while it is paid answers the same proof by what becomes of the payment', async () => {
    const wallet = await sale.openWallet();
    const { controls } = sale.chains.base;
    const { mounts } = sale.gateway.services;
    const sent = (): number => controls.callCount('eth_sendRawTransaction');
    const before = sent();
    await controls.setAutomine(false);
    const paying = sale.pay(wallet, 'work');
    try {
      await expect.poll(sent, { timeout: 20_000 }).toBe(before + 1);
      const look = vi.spyOn(mounts, 'offered').mockResolvedValue([]);
      const again = await sale.ask('work', {}, { headers: { 'payment-signature': wallet.proof } });
      expect([again.status, await codeOf(again)]).toEqual([409, 'payment_in_progress']);
      look.mockRestore();
    } finally {
      await controls.setAutomine(true);
      await controls.mine();
    }
    expect((await paying).status).toBe(200);
  });

  it.each([
    [{ arguments: { qurey: 'a' } }, 'arguments.qurey: is not a field here; did you mean query?'],
    [{ arguments: {} }, "arguments: must have required property 'query'"],
    [{ arguments: { query: 'a', list: [1, 'b'] } }, 'arguments.list.1: must be integer'],
    [{ arguments: { query: 'a' }, query: 'a' }, 'query: is not a field here; put it in arguments'],
    [{ argument: { query: 'a' } }, 'argument: is not a field here; did you mean arguments?'],
  ])('is neither sold nor run with what it does not take: %j', async (body, said) => {
    const runs = sale.runs('strict');
    const answer = await sale.ask('strict', {}, { body, apiKey: sale.apiKey });
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({
      error: { code: 'invalid_parameter', message: expect.stringContaining(said) },
    });
    expect(sale.runs('strict')).toBe(runs);
  });

  it('tells no price for what it does not take', async () => {
    expect((await sale.ask('strict', { query: 1 })).status).toBe(422);
    for (const list of [[1], null]) {
      const taken = await sale.ask('strict', { query: 'a', list }, { apiKey: sale.apiKey });
      expect(taken.headers.get('x-causeway-charge-usd')).toBe('0.05');
    }
  });

  it('asks nobody to pay for what is free or not offered', async () => {
    const free = await sale.ask('free');
    expect([free.status, free.headers.has('payment-required'), await free.json()]).toMatchObject([
      401,
      false,
      { error: { code: 'invalid_api_key', message: expect.stringContaining('This tool is free') } },
    ]);
    const unknown = await sale.ask('none');
    expect([unknown.status, await codeOf(unknown)]).toEqual([404, 'tool_not_found']);
    const overMcp = await agent.callTool('shop__none');
    expect([overMcp.isError, errorOf(overMcp)]).toEqual([true, 'tool_not_found']);
    expect((await sale.ask('free', {}, { apiKey: sale.apiKey })).status).toBe(200);
  });

  it('is not bought with sandbox credit, but with a payment beside the key', async () => {
    const wallet = await sale.openWallet();
    const { apiKey } = sale.gateway;
    const refused = await sale.ask('work', {}, { apiKey });
    expect([refused.status, refused.headers.has('payment-required')]).toEqual([402, true]);
    expect(await codeOf(refused)).toBe('insufficient_balance');
    const headers = { authorization: `Bearer ${apiKey}` };
    const paid = await sale.charged(async () => {
      expect((await sale.pay(wallet, 'work', {}, headers)).status).toBe(200);
    });
    expect(paid).toBe('0.01');
  });

  it('is paid from the balance of a wallet that has signed in', async () => {
    const wallet = await sale.openWallet();
    await sale.pay(wallet, 'fail');
    const { store, clock } = sale.gateway.services;
    const account = await store.findWalletAccount({ wallet: wallet.name, isSandbox: true });
    const made = {
      accountId: account?.id ?? '',
      label: 'wallet sign-in',
      brand: 'causeway',
      madeBy: 'wallet',
    };
    const signedIn = await issueKey({ store, clock }, made);
    if (signedIn.outcome !== 'issued') throw new Error(signedIn.outcome);
    expect((await sale.ask('work', {}, { apiKey: signedIn.key })).status).toBe(200);
    expect(await sale.balanceOf(wallet)).toBe('0.048');
  });

  describe('that the operator calls harmless', () => {
    const schemesOf = async (tool: string): Promise<string[]> => {
      const answer = await sale.ask(tool, { count: 1 });
      const terms = JSON.parse(atob(answer.headers.get('payment-required') ?? '')) as {
        accepts: { scheme: string }[];
      };
      return terms.accepts.map(({ scheme }) => scheme);
    };

    it('is the only one that may run before it is paid', async () => {
      expect(await schemesOf('look')).toEqual(['upto', 'exact', 'exact']);
      expect(await schemesOf('list')).toEqual(['upto', 'exact', 'exact']);
      expect(await schemesOf('work')).toEqual(['exact', 'exact']);
      expect(await schemesOf('find')).toEqual(['exact', 'exact']);
    });

    it('is paid by what it used, when it has run', async () => {
      const wallet = await sale.openWallet('upto');
      const paid = await sale.charged(async () => {
        const looked = await sale.pay(wallet, 'look');
        expect([looked.status, chargeOf(looked)]).toEqual([200, '0.003']);
        const listed = await sale.pay(wallet, 'list', { count: 4 });
        expect([listed.status, chargeOf(listed)]).toEqual([200, '0.004']);
      });
      expect([paid, await sale.balanceOf(wallet)]).toEqual(['0.007', '0.00']);
      const nothing = await sale.charged(async () => {
        const empty = await sale.pay(wallet, 'list', { count: 0 });
        expect([empty.status, chargeOf(empty)]).toEqual([200, '0.00']);
      });
      expect(nothing).toBe('0.00');
    });
  });

  it('leaves the ledger sound', async () => {
    expect(await sale.gateway.services.store.checkLedger()).toMatchObject({ problems: [], openHolds: 0 });
  });
});
