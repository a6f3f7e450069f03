import { describe, expect, it, onTestFinished } from 'vitest';
import { isJsonObject, type JsonObject } from '../../src/kit/json.ts';
import { encodeBase64Json } from '../../src/payments/chains/core/wire.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { startHttpMcp, type SeenRequest } from './http-mcp-server.ts';
import { startMountingGateway } from './start-mounting-gateway.ts';
import { centTerms, payYaml, walletKey } from './x402-terms.ts';

interface Call {
  id: number;
  meta: JsonObject;
  /** The proof in the header. */
  header: string | undefined;
}

const readCall = ({ body, headers }: SeenRequest): Call | null => {
  if (!body.includes('"tools/call"')) return null;
  const { id, params } = JSON.parse(body) as { id: number; params: { _meta?: JsonObject } };
  return { id, meta: params._meta ?? {}, header: headers['payment-signature']?.toString() };
};

/** A sold tool `echo`, and a gateway that pays for it. `answer`: null: the connection breaks off. */
const start = async (answer: (call: Call) => { status?: number; headers?: object; body?: object } | null) => {
  const calls: Call[] = [];
  const { origin } = await startHttpMcp((request, response) => {
    const call = readCall(request);
    response.setHeader('mcp-session-id', 'session');
    if (call === null) return false;
    calls.push(call);
    const given = answer(call);
    if (given === null) response.destroy();
    else
      response
        .writeHead(given.status ?? 200, { 'content-type': 'application/json', ...given.headers })
        .end(JSON.stringify({ jsonrpc: '2.0', id: call.id, ...given.body }));
    return true;
  });
  const gateway = await startMountingGateway(
    { remote: { url: `${origin}/mcp`, private: true, prices: { echo: 0.02 }, pay: payYaml } },
    { WALLET_KEY: walletKey },
  );
  onTestFinished(() => gateway.stop());
  await acceptToolsOf(gateway.services, 'remote');
  const ask = (key: string): Promise<Response> =>
    gateway.call('/v1/tools/remote/echo', { body: {}, headers: { 'idempotency-key': key } });
  const bought = () => gateway.services.store.listBoughtPayments({ before: null, limit: 10 });
  return { gateway, calls, ask, bought };
};

const proofsIn = (calls: Call[]): Set<string> =>
  new Set(calls.filter(isPaid).map(({ meta }) => JSON.stringify(meta['x402/payment'])));
const isPaid = ({ meta }: Call): boolean => 'x402/payment' in meta;
const done = { body: { result: { content: [{ type: 'text', text: 'echo' }] } } };
const asks = { body: { error: { code: 402, message: 'pay', data: centTerms } } };
const text = [{ type: 'text', text: JSON.stringify(centTerms) }];
const words = [{ type: 'text', text: 'Pay a cent.' }];

describe('terms of a payment', () => {
  it.each([
    ['as structured content', { result: { isError: true, content: [], structuredContent: centTerms } }],
    [
      'as structured content and text',
      { result: { isError: true, content: text, structuredContent: centTerms } },
    ],
    ['in _meta', { result: { isError: true, content: [], _meta: { 'x402/error': centTerms } } }],
    [
      'in _meta, beside other text',
      { result: { isError: true, content: words, _meta: { 'x402/error': centTerms } } },
    ],
    ['in an error of the protocol', { error: { code: 402, message: 'pay', data: centTerms } }],
  ])('are met %s, by a proof in _meta', async (_where, body) => {
    const { calls, ask, bought } = await start((call) => (isPaid(call) ? done : { body }));
    const answer = await ask('a');
    expect([await answer.json(), answer.headers.get('x-causeway-charge-usd')]).toEqual([
      { content: [{ type: 'text', text: 'echo' }] },
      '0.02',
    ]);
    expect(calls.map(isPaid)).toEqual([false, true]);
    expect(await bought()).toMatchObject([{ state: 'answered', price: 10_000_000n, transaction: null }]);
  });

  it('are met by HTTP, whose answer names the transaction', async () => {
    const transaction = `0x${'ab'.repeat(32)}`;
    const headers = { 'payment-required': encodeBase64Json(centTerms) };
    const receipt = { 'payment-response': encodeBase64Json({ success: true, transaction }) };
    const { calls, ask, bought } = await start(({ header }) =>
      header === undefined ? { status: 402, headers } : { ...done, headers: receipt },
    );
    expect((await ask('a')).headers.get('x-causeway-charge-usd')).toBe('0.02');
    const [, paid] = calls;
    expect(paid?.header).toBe(encodeBase64Json(paid?.meta['x402/payment']));
    expect(await bought()).toMatchObject([{ state: 'answered', transaction }]);
  });
});

describe('terms that a tool repeats as its caller gave them', () => {
  it.each([
    ['as text', { content: text }],
    ['as text of a failure', { content: text, isError: true }],
    ['as text among others', { content: [...words, ...text], isError: true, structuredContent: centTerms }],
    ['as structured content', { content: [], structuredContent: centTerms }],
    [
      'as structured content of a failure with other text',
      { content: words, isError: true, structuredContent: centTerms },
    ],
    ['in _meta', { content: words, _meta: { 'x402/error': centTerms } }],
  ])('are never paid, and are kept from its caller: %s', async (_how, result) => {
    const { gateway, calls, ask, bought } = await start(() => ({ body: { result } }));
    const answer = await ask('a');
    expect([answer.status, answer.headers.get('x-causeway-charge-usd')]).toEqual([200, '0.00']);
    expect(await answer.json()).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('asks for a payment') }],
    });
    expect(calls.map(isPaid)).toEqual([false]);
    expect([await bought(), gateway.services.buyer?.problems().size]).toEqual([[], 0]);
  });

  it('leave the answer of a paid call an answer, which is charged and which no client can pay', async () => {
    const { calls, ask, bought } = await start((call) =>
      isPaid(call) ? { body: { result: { content: text, structuredContent: centTerms } } } : asks,
    );
    const answer = await ask('a');
    expect([answer.status, answer.headers.get('x-causeway-charge-usd')]).toEqual([200, '0.02']);
    const { x402Version: _left, ...rest } = centTerms;
    expect(await answer.json()).toEqual({
      content: [{ type: 'text', text: `The tool answered: ${JSON.stringify(centTerms)}` }],
      structuredContent: rest,
    });
    expect(calls.map(isPaid)).toEqual([false, true]);
    expect((await bought()).map(({ state }) => state)).toEqual(['answered']);
  });
});

describe('a call that was paid', () => {
  it('is repeated as long as its result is kept, and then said to be gone, with what it cost', async () => {
    const { gateway, calls, ask } = await start(() => done);
    const [, repeated] = [await ask('same'), await ask('same')];
    expect(await repeated.json()).toEqual(done.body.result);
    await gateway.services.store.forgetResults({ endedBefore: Date.now() + 60_000, limit: 10 });
    const late = await ask('same');
    expect([late.status, late.headers.get('x-causeway-charge-usd'), await late.json()]).toMatchObject([
      410,
      '0.02',
      { error: { code: 'content_expired' } },
    ]);
    expect(calls).toHaveLength(1);
  });

  it('is uncharged and never paid again when no answer comes', async () => {
    const { gateway, calls, ask, bought } = await start((call) => (isPaid(call) ? null : asks));
    for (let times = 0; times < 2; times += 1) {
      const answer = await ask('same');
      expect([answer.status, await answer.json()]).toMatchObject([
        502,
        { error: { code: 'outcome_unknown' } },
      ]);
    }
    expect(calls.filter(isPaid)).toHaveLength(1);
    expect(await bought()).toMatchObject([{ state: 'sent' }]);
    const balance = await (await gateway.call('/v1/balance')).json();
    expect(balance).toMatchObject({ balance_usd: '10.00' });
  });

  it('is uncharged when the server asks for another payment, which it does not get', async () => {
    const { calls, ask, bought } = await start(() => ({
      body: { result: { isError: true, content: [], structuredContent: centTerms } },
    }));
    const answer = await ask('a');
    expect(answer.headers.get('x-causeway-charge-usd')).toBe('0.00');
    expect(proofsIn(calls).size).toBe(1);
    expect((await bought()).map(({ state }) => state)).toEqual(['sent']);
  });

  it.each([401, 403, 404, 429])(
    'is uncharged and never paid again when the server answers its proof with status %i',
    async (status) => {
      const { calls, ask, bought } = await start((call) =>
        isPaid(call) ? { status, headers: { 'retry-after': '0' } } : asks,
      );
      for (let times = 0; times < 2; times += 1) {
        const answer = await ask('same');
        expect(await answer.json()).toMatchObject({ error: { code: 'outcome_unknown' } });
        expect(answer.headers.get('x-causeway-charge-usd')).toBe('0.00');
      }
      expect(proofsIn(calls).size).toBe(1);
      expect((await bought()).map(({ state }) => state)).toEqual(['sent']);
    },
  );

  it.each([
    ['the server is busy', 429],
    ['the session is lost', 404],
  ])('sends the same proof again when %s, and is answered', async (_when, status) => {
    const { calls, ask, bought } = await start((call) => {
      if (!isPaid(call)) return asks;
      return calls.filter(isPaid).length === 1 ? { status, headers: { 'retry-after': '0' } } : done;
    });
    expect((await ask('a')).headers.get('x-causeway-charge-usd')).toBe('0.02');
    expect([calls.filter(isPaid).length, proofsIn(calls).size]).toEqual([2, 1]);
    expect((await bought()).map(({ state }) => state)).toEqual(['answered']);
  });

  it('tells its caller nothing of the proof or the receipt', async () => {
    const { ask } = await start((call) =>
      isPaid(call)
        ? {
            body: {
              result: {
                content: [{ type: 'text', text: 'echo' }],
                _meta: { 'x402/payment-response': { success: true, transaction: '0x1' } },
              },
            },
          }
        : asks,
    );
    const body: unknown = await (await ask('a')).json();
    expect(isJsonObject(body) && Object.keys(body)).toEqual(['content']);
  });
});
