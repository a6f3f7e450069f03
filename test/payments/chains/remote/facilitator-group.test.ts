import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/kit/log.ts';
import { createFacilitatorGroup } from '../../../../src/payments/chains/remote/facilitator-group.ts';
import {
  defaultFacilitatorTimeouts,
  type Facilitator,
  type FacilitatorTimeouts,
  type OutgoingTransaction,
  type PaymentOrder,
} from '../../../../src/payments/chains/core/facilitator.ts';
import { createJsonRpc } from '../../../../src/payments/chains/core/json-rpc.ts';
import { requireNetwork } from '../../../../src/payments/chains/networks.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const network = requireNetwork('eip155:84532');
const noNode = 'http://127.0.0.1:9';
const never = new AbortController().signal;
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

const json =
  (status: number, body: unknown): Answer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
const hang: Answer = () => undefined;
const cut: Answer = (request) => request.socket.resetAndDestroy();
const yes = json(200, { isValid: true, payer: '0xpayer' });

/** A facilitator that gives one answer to all, until it is changed. */
const start = async (initial: Answer) => {
  const stub = { answer: initial, calls: 0, url: '' };
  const server = createServer((request, response) => {
    stub.calls += 1;
    request.resume().on('end', () => stub.answer(request, response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  stub.url = `http://127.0.0.1:${address.port}`;
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  closers.push(stop);
  return Object.assign(stub, { stop });
};

const order: PaymentOrder = {
  requirements: {
    scheme: 'exact',
    network: network.id,
    asset: network.asset.address,
    amount: '100000',
    payTo: `0x${'2'.repeat(40)}`,
    maxTimeoutSeconds: 300,
    extra: {},
  },
  payload: {
    x402Version: 2,
    resource: { url: 'https://leads.example/v1/search', description: '', mimeType: 'application/json' },
    accepted: {
      scheme: 'exact',
      network: network.id,
      asset: network.asset.address,
      amount: '100000',
      payTo: `0x${'2'.repeat(40)}`,
      maxTimeoutSeconds: 300,
      extra: {},
    },
    payload: {
      signature: '0x00',
      authorization: {
        from: `0x${'1'.repeat(40)}`,
        to: `0x${'2'.repeat(40)}`,
        value: '100000',
        validAfter: '0',
        validBefore: '9999999999',
        nonce: `0x${'3'.repeat(64)}`,
      },
    },
  },
};

const createGroup = (urls: [string, ...string[]], changes: Partial<FacilitatorTimeouts> = {}) => {
  const time = { nowMs: 0 };
  const troubles: string[] = [];
  const group = createFacilitatorGroup({
    network,
    endpoints: urls.map((url) => ({ url, cdpKey: null })),
    rpc: createJsonRpc({ url: noNode, timeoutMs: defaultFacilitatorTimeouts.rpcMs }),
    timeouts: { ...defaultFacilitatorTimeouts, ...changes },
    log: silentLog,
    now: () => Date.now(),
    nowMs: () => time.nowMs,
    onTrouble: (url) => void troubles.push(url),
  });
  return { group, time, troubles };
};

const settle = async (group: Facilitator) => {
  const left: OutgoingTransaction[] = [];
  const outcome = await group.settle(order, {
    earlier: null,
    beforeBroadcast: async (outgoing) => void left.push(outgoing),
  });
  return { outcome, left };
};

describe('a group of facilitators', () => {
  it('leaves a failing one alone for half a minute, then lets one call try', async () => {
    const [bad, good] = [await start(json(500, {})), await start(yes)];
    const { group, time } = createGroup([bad.url, good.url]);
    const verify = () => group.verify(order, never);
    await verify();
    await verify();
    await verify();
    expect(bad.calls).toBe(2);
    time.nowMs = 29_999;
    await verify();
    expect(bad.calls).toBe(2);
    time.nowMs = 30_000;
    await verify();
    await verify();
    expect(bad.calls).toBe(3);
    bad.answer = yes;
    time.nowMs = 60_000;
    await verify();
    await verify();
    expect([bad.calls, good.calls]).toEqual([5, 6]);
  });

  it('asks even those that rest when nobody else is left', async () => {
    const bad = await start(json(500, {}));
    const { group } = createGroup([bad.url]);
    for (let call = 1; call <= 4; call += 1) {
      expect(await group.verify(order, never)).toMatchObject({ outcome: 'unavailable' });
      expect(bad.calls).toBe(call);
    }
  });

  it('leaves time for the next when the first does not answer', async () => {
    const [silent, good] = [await start(hang), await start(yes)];
    const { group } = createGroup([silent.url, good.url], { verifyMs: 4_000 });
    expect(await group.verify(order, never)).toMatchObject({ outcome: 'valid' });
  });

  it('does not blame one for a caller that went away', async () => {
    const [slow, other] = [await start(hang), await start(yes)];
    const { group, troubles } = createGroup([slow.url, other.url]);
    for (let call = 0; call < 3; call += 1) {
      const caller = new AbortController();
      slow.answer = () => caller.abort();
      expect(await group.verify(order, caller.signal)).toMatchObject({ outcome: 'unavailable' });
    }
    expect([slow.calls, other.calls, troubles]).toEqual([3, 0, []]);
  });

  it('tells once when one begins to fail', async () => {
    const [bad, good] = [await start(json(500, {})), await start(yes)];
    const { group, troubles } = createGroup([bad.url, good.url]);
    await group.verify(order, never);
    await group.verify(order, never);
    expect(troubles).toEqual([bad.url]);
  });

  it('names the first that works in its terms, and tries one that failed again in a while', async () => {
    const kinds = [{ x402Version: 2, scheme: 'exact', network: network.id }];
    const byPath =
      (work: Answer): Answer =>
      (request, response) =>
        (request.url === '/supported' ? json(200, { kinds }) : work)(request, response);
    const [bad, good] = [await start(byPath(json(500, {}))), await start(byPath(yes))];
    const { group, time } = createGroup([bad.url, good.url]);
    const refreshed = async (): Promise<unknown> => {
      const { ready, detail } = await group.refresh(never);
      return { ready, detail, address: group.address() };
    };
    expect(await refreshed()).toEqual({ ready: true, detail: null, address: bad.url });
    await group.verify(order, never);
    expect(await refreshed()).toEqual({
      ready: true,
      detail: `the facilitator ${bad.url} answers with status 500`,
      address: good.url,
    });
    time.nowMs = 30_000;
    expect(await refreshed()).toEqual({ ready: true, detail: null, address: bad.url });
  });

  it('goes on telling of one that does not accept our credentials until it does', async () => {
    const kinds = [{ x402Version: 2, scheme: 'exact', network: network.id }];
    let work = json(401, {});
    const guarded = await start((request, response) =>
      (request.url === '/supported' ? json(200, { kinds }) : work)(request, response),
    );
    const { group, time } = createGroup([guarded.url]);
    await group.verify(order, never);
    time.nowMs = 60_000;
    const refused = `the facilitator ${guarded.url} does not accept our credentials (401)`;
    expect(await group.refresh(never)).toEqual({ ready: true, detail: refused });
    work = yes;
    await group.verify(order, never);
    expect(await group.refresh(never)).toEqual({ ready: true, detail: null });
  });

  it('goes on leaving one alone that answers what it supports and nothing else', async () => {
    const kinds = [{ x402Version: 2, scheme: 'exact', network: network.id }];
    const counts = { verify: 0 };
    const bad = await start((request, response) => {
      if (request.url === '/verify') counts.verify += 1;
      json(request.url === '/verify' ? 500 : 200, { kinds })(request, response);
    });
    const good = await start(yes);
    const { group } = createGroup([bad.url, good.url]);
    for (let round = 0; round < 4; round += 1) {
      await group.refresh(never);
      await group.verify(order, never);
    }
    expect(counts.verify).toBe(2);
  });

  it('says that nothing was sent when no connection came about, and names who was asked', async () => {
    const gone = await start(yes);
    await gone.stop();
    const { group } = createGroup([gone.url]);
    expect(await settle(group)).toEqual({
      outcome: { outcome: 'unavailable', reason: 'facilitator_unavailable' },
      left: [{ transaction: null, rawTransaction: null, facilitator: gone.url }],
    });
  });

  it.each([
    ['cut off', cut],
    ['answered with nothing', hang],
    ['answered with an error', json(500, { success: false, errorReason: 'invalid_payload' })],
    ['answered with success and an error', json(500, { success: true, transaction: `0x${'4'.repeat(64)}` })],
    ['answered with success and no transaction', json(200, { success: true, transaction: 'https://evil' })],
  ])('does not know the end of a settlement that was %s', async (_name, answer) => {
    const asked = await start(answer);
    const { group } = createGroup([asked.url], answer === hang ? { settleMs: 2_000 } : {});
    expect((await settle(group)).outcome).toMatchObject({ outcome: 'unknown' });
  });

  it('settles nothing that could not be written down before', async () => {
    const asked = await start(yes);
    const { group } = createGroup([asked.url]);
    const failure = new Error('the disk is full');
    const beforeBroadcast = () => Promise.reject(failure);
    await expect(group.settle(order, { earlier: null, beforeBroadcast })).rejects.toBe(failure);
    expect(asked.calls).toBe(0);
  });

  it.each([
    ['one that is not configured', 'https://gone.example'],
    ['nobody knows whom', null],
  ])('asks nobody about a settlement begun at %s', async (_name, facilitator) => {
    const other = await start(json(200, { success: true, transaction: `0x${'4'.repeat(64)}` }));
    const { group } = createGroup([other.url]);
    const earlier = { transaction: null, rawTransaction: null, facilitator };
    const outcome = await group.settle(order, { earlier, beforeBroadcast: () => Promise.resolve() });
    expect(outcome).toMatchObject({ outcome: 'unknown' });
    const found = await group.findOutcome({ ...order, ...earlier, createdAt: Date.now() }, never);
    expect(found).toMatchObject({ outcome: 'unknown' });
    expect(other.calls).toBe(0);
  });
});
