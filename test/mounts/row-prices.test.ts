import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientKinds } from '../mcp/clients.ts';
import { startToolSale, toolSaleEngines, type ToolSale } from './start-tool-sale.ts';

const engines = await toolSaleEngines();
afterAll(() => engines.drop());

interface Found {
  content: { text: string }[];
  structuredContent?: { items: object[] };
  isError?: boolean;
}

const chargeOf = (answer: Response): string | null => answer.headers.get('x-causeway-charge-usd');
const note = 'These are the first 20 of 50 rows: no more are sold in one call. The others were not charged.';

describe.each(engines.all)('a tool that is sold by rows, on $engine,', ({ databaseUrl }) => {
  let sale: ToolSale;
  beforeAll(async () => {
    sale = await startToolSale({ databaseUrl });
  });
  afterAll(() => sale?.stop());
  const byKey = (tool: string, count: number): Promise<Response> =>
    sale.ask(tool, { count }, { apiKey: sale.apiKey });

  it('holds and quotes its most rows, and is charged for those that it answered', async () => {
    const wallet = await sale.openWallet();
    const unpaid = await sale.ask('find', { count: 3 });
    expect(await unpaid.json()).toMatchObject({
      x402: { amount: '0.02' },
      quote: { tool: 'find', unit: 'row', price_usd: '0.001', max_rows: 20, most_usd: '0.02' },
    });
    const paid = await sale.charged(async () => {
      const answer = await sale.pay(wallet, 'find', { count: 3 });
      expect([answer.status, chargeOf(answer)]).toEqual([200, '0.003']);
      const { content, structuredContent } = (await answer.json()) as Found;
      expect([content.length, structuredContent?.items.length]).toEqual([1, 3]);
    });
    expect([paid, await sale.balanceOf(wallet)]).toEqual(['0.02', '0.017']);
  });

  it.each([
    ['find', 3, { units: { rows: 3 }, rate: { unit: 'row', price_usd: '0.001' }, charge_usd: '0.003' }],
    ['find', 50, { units: { rows: 20 }, charge_usd: '0.02' }],
    ['work', 1, { units: { calls: 1 }, rate: { unit: 'call', price_usd: '0.002' }, charge_usd: '0.002' }],
  ])('has a receipt for the units that %s of %i was charged for', async (tool, count, receipt) => {
    await (await byKey(tool, count)).text();
    const read = async <T>(path: string): Promise<T> =>
      (await (await sale.gateway.call(path, { apiKey: sale.apiKey })).json()) as T;
    const { data } = await read<{ data: { job_id: string }[] }>('/v1/transactions?limit=1');
    expect(await read(`/v1/receipts/${data[0]?.job_id}`)).toMatchObject({ kind: 'tool', ...receipt });
  });

  it('has its other rows cut, in the text too, which says so, and is not charged for them', async () => {
    const answer = await byKey('find', 50);
    expect(chargeOf(answer)).toBe('0.02');
    const { content, structuredContent } = (await answer.json()) as Found;
    expect(structuredContent?.items).toHaveLength(20);
    expect(content.map(({ text }) => text)).toEqual([JSON.stringify(structuredContent), note]);
    const client = await clientKinds[2]!.connect(`${sale.gateway.url}/mcp/tools/shop`, sale.apiKey);
    const overMcp = await client.callTool('shop__find', { count: 50 });
    expect(overMcp).toMatchObject({ structuredContent, _meta: { 'causeway/charge-usd': '0.02' } });
    await client.close();
  });

  it('has its rows counted in a text alone', async () => {
    const few = await byKey('list', 2);
    expect([chargeOf(few), (await few.json()) as Found]).toMatchObject([
      '0.002',
      { content: [{ text: '[{"row":1},{"row":2}]' }] },
    ]);
    const none = await byKey('list', 0);
    expect([none.status, chargeOf(none)]).toEqual([200, '0.00']);
    const { content } = (await (await byKey('list', 50)).json()) as Found;
    expect(content).toHaveLength(2);
    expect(JSON.parse(content[0]?.text ?? '')).toHaveLength(20);
    expect(content[1]?.text).toBe(note);
  });

  it('is charged nothing, and passes nothing on, where its rows cannot be counted', async () => {
    const wallet = await sale.openWallet();
    const answer = await sale.pay(wallet, 'tell');
    expect([answer.status, chargeOf(answer)]).toEqual([200, '0.00']);
    const body = (await answer.json()) as Found;
    expect(body).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('no list of rows') }],
    });
    expect(JSON.stringify(body)).not.toContain('There are many rows');
    expect(await sale.balanceOf(wallet)).toBe('0.02');
  });

  it('tells its price in every list', async () => {
    const answer = await sale.gateway.call('/v1/tools', { apiKey: sale.apiKey });
    const { tools } = (await answer.json()) as { tools: { tool: string }[] };
    expect(tools.find(({ tool }) => tool === 'find')).toMatchObject({
      price_usd: '0.001',
      unit: 'row',
      max_rows: 20,
    });
    expect(tools.find(({ tool }) => tool === 'work')).toMatchObject({
      price_usd: '0.002',
      unit: 'call',
      max_rows: null,
    });
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const headers = { accept: 'application/json, text/event-stream' };
    const listed = await sale.gateway.call('/mcp/tools', { body, headers, apiKey: null });
    expect(await listed.text()).toContain('Price: $0.001 a row, at most 20 rows ($0.02).');
  });

  it('leaves the ledger sound', async () => {
    expect(await sale.gateway.services.store.checkLedger()).toMatchObject({ problems: [], openHolds: 0 });
  });
});
