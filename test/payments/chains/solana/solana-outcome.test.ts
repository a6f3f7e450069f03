import { createSolanaRpc } from '@solana/kit';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FoundOutcome } from '../../../../src/payments/chains/core/facilitator.ts';
import { createJsonRpc } from '../../../../src/payments/chains/core/json-rpc.ts';
import { createSolanaChain } from '../../../../src/payments/chains/solana/solana-chain.ts';
import { findSolanaOutcome } from '../../../../src/payments/chains/solana/solana-outcome.ts';
import { readSolanaTransaction } from '../../../../src/payments/chains/solana/solana-transaction.ts';
import { signUsdcTransfer } from '../../../chains/sign-usdc-transfer.ts';
import type { RpcProxy } from '../../../chains/rpc-proxy.ts';
import { startSolanaChain, type SolanaChain } from '../../../chains/solana-chain.ts';
import { startOddNode } from '../../support/odd-node.ts';

const minuteMs = 60_000;
const twiceTheLifeOfABlockhash = 180_000;
const slotsOf = (ms: number): number => ms / 400;
const expired = { outcome: 'failed', reason: 'invalid_exact_svm_blockhash_expired' };
const pending = { outcome: 'unknown', reason: 'settlement_pending' };
const forgotten = { outcome: 'unknown', reason: 'history_too_short' };

const started: SolanaChain[] = [];
const odd: RpcProxy[] = [];
let local: SolanaChain;
let createdAt: number;
beforeEach(async () => {
  createdAt = Date.now();
  local = await startSolanaChain();
  started.push(local);
  await local.mint(local.buyer.address, 1_000_000n);
});
afterEach(() => local.controls.clearFaults());
afterAll(() => Promise.all([...odd, ...started].map((each) => each.stop())));

const nodeOf = ({ rpcUrl }: SolanaChain) =>
  createSolanaChain(createJsonRpc({ url: rpcUrl, timeoutMs: 5_000 }), AbortSignal.timeout(20_000));

const sign = async (chain: SolanaChain) => {
  const { value: lifetime } = await createSolanaRpc(chain.rpcUrl).getLatestBlockhash().send();
  return signUsdcTransfer(chain, { amount: 1n, lifetime });
};

interface Asked {
  signature: string;
  wire: string;
  /** How long after the payment began, by the gateway's clock. */
  ageMs: number;
  asked?: SolanaChain;
  network?: string;
  afterFirstLook?: () => void;
}

const ask = ({
  signature,
  wire,
  ageMs,
  asked = local,
  network = local.network,
  afterFirstLook = () => undefined,
}: Asked): Promise<FoundOutcome> => {
  const chain = nodeOf(asked);
  let looks = 0;
  return findSolanaOutcome(chain, {
    find: async (minSlot) => {
      const status = await chain.getStatus(signature, minSlot);
      if (looks === 0) afterFirstLook();
      looks += 1;
      return status === null ? null : { signature, status };
    },
    blockhash: readSolanaTransaction(wire).blockhash,
    network,
    sentAfter: createdAt - minuteMs,
    createdAt,
    now: createdAt + ageMs,
  });
};

describe('a payment on Solana that is not there', () => {
  it('can still be settled while its blockhash lives', async () => {
    expect(await ask({ ...(await sign(local)), ageMs: 0 })).toEqual({ outcome: 'open' });
  });

  it('is failed when its blockhash is long dead, by our clock and by that of the cluster', async () => {
    const payment = await sign(local);
    local.controls.expireBlockhash();
    expect(await ask({ ...payment, ageMs: minuteMs })).toEqual(pending);
    expect(await ask({ ...payment, ageMs: twiceTheLifeOfABlockhash })).toEqual(expired);
  });

  it('is failed when the block is final that is that late, and not before', async () => {
    const payment = await sign(local);
    local.controls.advanceSlots(slotsOf(twiceTheLifeOfABlockhash + 2_000));
    expect(await ask({ ...payment, ageMs: 4 * minuteMs })).toEqual(pending);
    local.controls.advanceSlots(32);
    expect(await ask({ ...payment, ageMs: 4 * minuteMs })).toEqual(expired);
  });

  it('is failed however late that is asked', async () => {
    const payment = await sign(local);
    local.controls.expireBlockhash();
    expect(await ask({ ...payment, ageMs: 30 * 24 * 60 * minuteMs })).toEqual(expired);
  });

  it('is not called so by a node of another cluster, where it never was', async () => {
    const payment = await sign(local);
    local.controls.expireBlockhash();
    const network = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';
    await expect(ask({ ...payment, network, ageMs: twiceTheLifeOfABlockhash })).rejects.toThrow(
      'the node serves another cluster',
    );
  });

  it('is settled when it lands while the node is asked', async () => {
    const payment = await sign(local);
    local.controls.holdSends = true;
    await nodeOf(local).send(payment.wire);
    const afterFirstLook = () => local.controls.landHeld();
    expect(await ask({ ...payment, ageMs: 0, afterFirstLook })).toEqual({
      outcome: 'settled',
      transaction: payment.signature,
    });
  });
});

describe('a node that does not tell the time of blocks', () => {
  const unable = {
    'lacks the question': () => {
      local.controls.inject({ fault: 'error', methods: ['getBlockTime'] });
      return Promise.resolve(local);
    },
    'answers null': async () => {
      const node = await startOddNode(local.rpcUrl, ({ method }) =>
        method === 'getBlockTime' ? null : undefined,
      );
      odd.push(node);
      return { ...local, rpcUrl: node.url };
    },
  };
  it.each(Object.entries(unable))(
    'and %s proves the end of a payment all the same',
    async (_how, disable) => {
      const payment = await sign(local);
      const asked = await disable();
      expect(await ask({ ...payment, asked, ageMs: 0 })).toEqual({ outcome: 'open' });
      local.controls.expireBlockhash();
      expect(await ask({ ...payment, asked, ageMs: minuteMs })).toEqual(pending);
      expect(await ask({ ...payment, asked, ageMs: 4 * minuteMs })).toEqual(expired);
    },
  );

  it.each(Object.entries(unable))('and %s proves nothing of what it has forgotten', async (_how, disable) => {
    const payment = await sign(local);
    const asked = await disable();
    await nodeOf(local).send(payment.wire);
    local.controls.forgetBlocks();
    local.controls.expireBlockhash();
    expect(await ask({ ...payment, asked, ageMs: 4 * minuteMs })).toEqual(forgotten);
  });

  it('and nothing of its clock is not believed', async () => {
    const payment = await sign(local);
    local.controls.expireBlockhash();
    local.controls.inject({ fault: 'error', methods: ['getBlockTime', 'getAccountInfo'] });
    await expect(ask({ ...payment, ageMs: 4 * minuteMs })).rejects.toThrow('Injected fault');
  });
});

describe('a node that stands still', () => {
  it('proves nothing of a blockhash that it has never seen', async () => {
    const stalled = await startSolanaChain();
    started.push(stalled);
    const payment = await sign(local);
    await nodeOf(local).send(payment.wire);
    expect(await ask({ ...payment, asked: stalled, ageMs: 4 * minuteMs })).toEqual(pending);
  });

  it('does not call a payment open because it takes its blockhash for a living one', async () => {
    const payment = await sign(local);
    expect(await ask({ ...payment, ageMs: minuteMs })).toEqual({ outcome: 'open' });
    expect(await ask({ ...payment, ageMs: 2 * minuteMs })).toEqual(pending);
  });

  it('behind the same address does not answer for one that went on', async () => {
    const { signature } = await sign(local);
    const chain = nodeOf(local);
    const tip = await chain.getFinalizedSlot();
    expect(await chain.getStatus(signature, tip)).toBeNull();
    await expect(chain.getStatus(signature, tip + 1_000)).rejects.toThrow('the node is behind');
  });
});

describe('a node that lost its history', () => {
  it('does not prove that a landed payment failed', async () => {
    const payment = await sign(local);
    await nodeOf(local).send(payment.wire);
    local.controls.forgetBlocks();
    local.controls.expireBlockhash();
    expect(await ask({ ...payment, ageMs: 4 * minuteMs })).toEqual(forgotten);
  });

  it('is told from one that does not say what its first block is', async () => {
    const payment = await sign(local);
    local.controls.expireBlockhash();
    local.controls.inject({ fault: 'error', methods: ['getFirstAvailableBlock'] });
    expect(await ask({ ...payment, ageMs: 4 * minuteMs })).toEqual(expired);
    local.controls.forgetBlocks();
    local.controls.advanceSlots(32);
    expect(await ask({ ...payment, ageMs: 4 * minuteMs })).toEqual(forgotten);
  });

  it('is not believed when it does not say anything of its blocks', async () => {
    const payment = await sign(local);
    local.controls.expireBlockhash();
    const methods = ['getFirstAvailableBlock', 'getBlocksWithLimit'];
    local.controls.inject({ fault: 'error', methods });
    await expect(ask({ ...payment, ageMs: 4 * minuteMs })).rejects.toThrow('Injected fault');
  });
});
