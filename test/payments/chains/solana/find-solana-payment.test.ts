import { createSolanaRpc } from '@solana/kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BegunPayment } from '../../../../src/payments/chains/core/facilitator.ts';
import { findSolanaPayment } from '../../../../src/payments/chains/solana/find-solana-payment.ts';
import { createJsonRpc } from '../../../../src/payments/chains/core/json-rpc.ts';
import { createSolanaChain } from '../../../../src/payments/chains/solana/solana-chain.ts';
import { signUsdcTransfer } from '../../../chains/sign-usdc-transfer.ts';
import { startSolanaChain, type SolanaChain } from '../../../chains/solana-chain.ts';
import { startOddNode } from '../../support/odd-node.ts';

let local: SolanaChain;
beforeAll(async () => {
  local = await startSolanaChain();
  await local.mint(local.buyer.address, 1_000_000n);
});
afterAll(() => local?.stop());

const openNode = (url = local.rpcUrl) =>
  createSolanaChain(createJsonRpc({ url, timeoutMs: 5_000 }), AbortSignal.timeout(20_000));

let amount = 0n;
const sign = async () => {
  const { value: lifetime } = await createSolanaRpc(local.rpcUrl).getLatestBlockhash().send();
  amount += 1n;
  return signUsdcTransfer(local, { amount, lifetime });
};
/** One that landed, and its like that was never sent. */
const land = async () => {
  const signed = await sign();
  await openNode().send(signed.wire);
  return signed;
};

const begin = (transaction: string, remembered: Partial<BegunPayment> = {}): BegunPayment => {
  const requirements: BegunPayment['requirements'] = {
    scheme: 'exact',
    network: local.network,
    amount: '1',
    asset: local.usdc,
    payTo: local.seller.address,
    maxTimeoutSeconds: 60,
    extra: {},
  };
  return {
    payload: {
      x402Version: 2,
      resource: {
        url: 'https://leads.example/v1/search',
        description: 'Leads',
        mimeType: 'application/json',
      },
      accepted: requirements,
      payload: { transaction },
    },
    requirements,
    transaction: null,
    rawTransaction: null,
    facilitator: null,
    createdAt: Date.now(),
    ...remembered,
  };
};
/** Asks, and counts how often the buyer's transactions were listed. */
const ask = async (payment: BegunPayment, ownSignature: string | null = null) => {
  const before = local.controls.callCount('getSignaturesForAddress');
  const found = await findSolanaPayment(openNode(), payment, { ownSignature, now: Date.now() });
  return { found, searches: local.controls.callCount('getSignaturesForAddress') - before };
};
const settledAs = (transaction: string) => ({ outcome: 'settled', transaction });

describe('a landed payment on Solana', () => {
  it('is found by the signature of our own key', async () => {
    const { wire, signature } = await land();
    expect(await ask(begin(wire), signature)).toEqual({ found: settledAs(signature), searches: 0 });
  });

  it('is found by the signature that was stored, whoever has the key', async () => {
    const { wire, signature } = await land();
    const payment = begin(wire, { rawTransaction: wire });
    expect(await ask(payment)).toEqual({ found: settledAs(signature), searches: 0 });
  });

  it('is found where somebody has seen it', async () => {
    const { wire, signature } = await land();
    const payment = begin(wire, { transaction: signature });
    expect(await ask(payment)).toEqual({ found: settledAs(signature), searches: 0 });
  });

  it('is found among the transactions of its buyer', async () => {
    const { wire, signature } = await land();
    expect(await ask(begin(wire))).toEqual({ found: settledAs(signature), searches: 1 });
  });

  it('is found although the hint is nonsense or another payment', async () => {
    const other = await land();
    const { wire, signature } = await land();
    for (const transaction of ['nonsense', other.signature])
      expect((await ask(begin(wire, { transaction }))).found).toEqual(settledAs(signature));
  });

  it('is found where somebody has seen it, when the signature thought sure is another', async () => {
    const { wire, signature } = await land();
    const { signature: neverSent } = await sign();
    const payment = begin(wire, { transaction: signature });
    expect((await ask(payment, neverSent)).found).toEqual(settledAs(signature));
  });
});

it('a landed payment is not missing because the node has no status of it', async () => {
  const { wire } = await land();
  const node = await startOddNode(local.rpcUrl, ({ method }) =>
    method === 'getSignatureStatuses' ? { context: { slot: 1_000_000 }, value: [null] } : undefined,
  );
  try {
    const asking = findSolanaPayment(openNode(node.url), begin(wire), {
      ownSignature: null,
      now: Date.now(),
    });
    await expect(asking).rejects.toThrow('has no status of a transaction that it has');
  } finally {
    await node.stop();
  }
});

describe('a payment on Solana that never landed', () => {
  it.each(['own', 'stored', 'hinted', 'unnamed'])(
    'is not taken for another that did (%s signature)',
    async (way) => {
      const other = await land();
      const { wire, signature } = await sign();
      const remembered = {
        own: {},
        stored: { rawTransaction: wire },
        hinted: { transaction: other.signature, rawTransaction: other.wire },
        unnamed: {},
      }[way];
      const { found } = await ask(begin(wire, remembered), way === 'own' ? signature : null);
      expect(found).toEqual({ outcome: 'open' });
    },
  );
});
