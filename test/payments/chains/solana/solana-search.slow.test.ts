import { createSolanaRpc } from '@solana/kit';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createJsonRpc } from '../../../../src/payments/chains/core/json-rpc.ts';
import { createSolanaChain } from '../../../../src/payments/chains/solana/solana-chain.ts';
import { createSolanaSearch } from '../../../../src/payments/chains/solana/find-solana-payment.ts';
import { readSolanaTransaction } from '../../../../src/payments/chains/solana/solana-transaction.ts';
import type { RpcCall } from '../../../chains/json-rpc.ts';
import { signUsdcTransfer } from '../../../chains/sign-usdc-transfer.ts';
import { startSolanaChain, type SolanaChain } from '../../../chains/solana-chain.ts';
import { startOddNode } from '../../support/odd-node.ts';

const begunAt = Math.floor(Date.now() / 1_000) - 60;

const started: { stop(): Promise<void> }[] = [];
let local: SolanaChain;
beforeEach(async () => {
  local = await startSolanaChain();
  started.push(local);
  await local.mint(local.buyer.address, 1_000_000_000n);
});
afterAll(() => Promise.all(started.map((each) => each.stop())));

const nodeAt = (url: string) =>
  createSolanaChain(createJsonRpc({ url, timeoutMs: 5_000 }), AbortSignal.timeout(20_000));

const getLifetime = async () => (await createSolanaRpc(local.rpcUrl).getLatestBlockhash().send()).value;
const sign = async (amount: number) =>
  signUsdcTransfer(local, { amount: BigInt(amount), lifetime: await getLifetime() });
/** The buyer's transactions of so many different amounts, up from `from`. */
const pay = async (from: number, count: number): Promise<void> => {
  const lifetime = await getLifetime();
  for (let amount = from; amount < from + count; amount += 1) {
    const { wire } = await signUsdcTransfer(local, { amount: BigInt(amount), lifetime });
    await nodeAt(local.rpcUrl).send(wire);
  }
};
const searchFor = (wire: string, { url = local.rpcUrl, sinceSeconds = begunAt } = {}) =>
  createSolanaSearch(nodeAt(url), {
    buyer: local.buyer.address,
    message: readSolanaTransaction(wire).message,
    sinceSeconds,
  });

/** The same node, with answers of its own to some calls. */
const openOdd = async (answer: (call: RpcCall) => unknown): Promise<string> => {
  const node = await startOddNode(local.rpcUrl, answer);
  started.push(node);
  return node.url;
};

describe('the search for a transaction that somebody else sent', () => {
  it('finds it behind more of the buyer’s than one list holds', async () => {
    const wanted = await sign(1);
    await nodeAt(local.rpcUrl).send(wanted.wire);
    await pay(2, 210);
    expect(await searchFor(wanted.wire)()).toBe(wanted.signature);
    expect(local.controls.callCount('getSignaturesForAddress')).toBe(2);
    expect(local.controls.callCount('getTransaction')).toBeLessThan(10);
  });

  it('says that it is not there when it is none of them', async () => {
    await pay(1, 3);
    expect(await searchFor((await sign(9)).wire)()).toBeNull();
  });

  it('reads nothing from before the payment began', async () => {
    await pay(1, 3);
    local.controls.expireBlockhash();
    await pay(4, 2);
    const sinceSeconds = Math.floor(Date.now() / 1_000) + 120;
    expect(await searchFor((await sign(9)).wire, { sinceSeconds })()).toBeNull();
    expect(local.controls.callCount('getTransaction')).toBe(2);
  });

  it('asked again, reads only what is new', async () => {
    const wanted = await sign(9);
    const search = searchFor(wanted.wire);
    await pay(1, 3);
    expect(await search()).toBeNull();
    await nodeAt(local.rpcUrl).send(wanted.wire);
    expect(await search()).toBe(wanted.signature);
    expect(local.controls.callCount('getTransaction')).toBe(4);
  });

  it('believes no node that lists a transaction and does not show it', async () => {
    const wanted = await sign(1);
    await nodeAt(local.rpcUrl).send(wanted.wire);
    const url = await openOdd(({ method }) => (method === 'getTransaction' ? null : undefined));
    await expect(searchFor(wanted.wire, { url })()).rejects.toThrow('that it does not show');
  });

  it('believes no node that breaks its list off', async () => {
    const wanted = await sign(1);
    await nodeAt(local.rpcUrl).send(wanted.wire);
    await pay(2, 200);
    const url = await openOdd(({ method, params }) =>
      method === 'getSignaturesForAddress' && JSON.stringify(params).includes('"before"') ? [] : undefined,
    );
    await expect(searchFor(wanted.wire, { url })()).rejects.toThrow('broke off its list');
  });

  it('gives up where the buyer has no end of transactions', async () => {
    const endless = Array.from({ length: 200 }, (_, at) => ({ signature: `${at}`, blockTime: null }));
    const url = await openOdd(({ method }) => (method === 'getSignaturesForAddress' ? endless : undefined));
    await expect(searchFor((await sign(1)).wire, { url })()).rejects.toThrow('too many transactions');
  });

  it('is not answered by a node that is not as far as asked for', async () => {
    const search = searchFor((await sign(1)).wire);
    const tip = await nodeAt(local.rpcUrl).getFinalizedSlot();
    expect(await search(tip)).toBeNull();
    await expect(search(tip + 1_000)).rejects.toThrow('Minimum context slot has not been reached');
  });
});
