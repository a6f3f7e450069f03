import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createJsonRpc } from '../../src/payments/facilitators/json-rpc.ts';
import { createSolanaChain } from '../../src/payments/facilitators/solana-chain.ts';
import { findSolanaOutcome } from '../../src/payments/facilitators/solana-outcome.ts';
import { startSolanaChain, type SolanaChain } from '../chains/solana-chain.ts';

let local: SolanaChain;
beforeAll(async () => {
  local = await startSolanaChain();
});
afterAll(() => local?.stop());

const neverGivenOut = '11111111111111111111111111111111';
const twiceTheLifeOfABlockhash = 180_000;

const ask = (network: string) => {
  const rpc = createJsonRpc({ url: local.rpcUrl, timeoutMs: 5_000 });
  return findSolanaOutcome(createSolanaChain(rpc, new AbortController().signal), {
    signature: null,
    blockhash: neverGivenOut,
    network,
    ageMs: twiceTheLifeOfABlockhash,
  });
};

describe('a payment on Solana that is not there when its blockhash is long dead', () => {
  it('is failed', async () => {
    expect(await ask(local.network)).toEqual({
      outcome: 'failed',
      reason: 'invalid_exact_svm_blockhash_expired',
    });
  });

  it('is not called so by a node of another cluster, where it never was', async () => {
    await expect(ask('solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp')).rejects.toThrow(
      'the node serves another cluster',
    );
  });
});
