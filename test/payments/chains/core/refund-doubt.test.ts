import {
  blockhash,
  createKeyPairSignerFromPrivateKeyBytes,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import { createEvmRefundChain } from '../../../../src/payments/chains/evm/evm-refund.ts';
import {
  createSolanaRefundChain,
  buildTransferMessage,
} from '../../../../src/payments/chains/solana/solana-refund.ts';

const signal = new AbortController().signal;
const now = 1_800_000_000_000;

describe('a refund on Solana that has landed', () => {
  it('is not called failed by a node that stood still before it was signed', async () => {
    const signer = await createKeyPairSignerFromPrivateKeyBytes(new Uint8Array(32).fill(7));
    const mint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
    const refund = { id: 'refund', asset: mint, recipient: signer.address, amount: 1n };
    const lifetime = { blockhash: blockhash(mint), lastValidBlockHeight: 1n };
    const signed = await signTransactionMessageWithSigners(
      await buildTransferMessage(refund, { signer, decimals: 6, lifetime }),
    );
    const signedAt = now - 200_000;
    const context = { slot: 1_000 };
    const landed = { err: null, confirmationStatus: 'finalized' };
    const answers: Record<string, (params: readonly unknown[]) => unknown> = {
      // Another node of the pool may say that all is well.
      getHealth: () => 'ok',
      isBlockhashValid: () => ({ context, value: false }),
      getSignatureStatuses: ([names]) => ({ context, value: [String(names) === 'landmark' ? landed : null] }),
      getSlot: () => context.slot,
      getBlockTime: () => (signedAt - 600_000) / 1_000,
    };
    const rpc = {
      request: (method: string, params: readonly unknown[]) => Promise.resolve(answers[method]?.(params)),
    };
    const found = await createSolanaRefundChain({ rpc, now: () => now }).findOutcome(
      {
        ...refund,
        sender: signer.address,
        transaction: getSignatureFromTransaction(signed),
        rawTransaction: getBase64EncodedWireTransaction(signed),
        signedAt,
        landmark: 'landmark',
      },
      signal,
    );
    expect(found).toEqual({ outcome: 'open', reason: 'node_is_behind' });
  });
});

describe('a refund on EVM whose nonce is used', () => {
  const account = privateKeyToAccount(`0x${'11'.repeat(32)}`);
  const own = `0x${'be'.repeat(32)}`;

  /** Receipts come from a node that is behind the one that tells of blocks. */
  const findOutcome = async (transactions: readonly { hash: string; from: string; nonce: string }[]) => {
    const call = { to: account.address, gas: 21_000n, maxFeePerGas: 1n, maxPriorityFeePerGas: 1n } as const;
    const rawTransaction = await account.signTransaction({ type: 'eip1559', chainId: 56, nonce: 5, ...call });
    const answers: Record<string, (params: readonly unknown[]) => unknown> = {
      eth_getBlockByNumber: () => ({
        number: '0x1000',
        timestamp: '0x1',
        baseFeePerGas: '0x0',
        transactions,
      }),
      eth_getTransactionCount: ([, block]) => (block === '0xfff' ? '0x5' : '0x6'),
      eth_getTransactionReceipt: ([hash]) =>
        hash === '0xland' ? { status: '0x1', blockNumber: '0x1', blockHash: '0x01', logs: [] } : null,
    };
    const rpc = {
      request: (method: string, params: readonly unknown[]) => Promise.resolve(answers[method]?.(params)),
    };
    return createEvmRefundChain({ rpc }).findOutcome(
      {
        id: 'refund',
        asset: account.address,
        recipient: account.address,
        amount: 1n,
        sender: account.address,
        transaction: own,
        rawTransaction,
        signedAt: now,
        landmark: '0xland',
      },
      signal,
    );
  };
  const taking = (hash: string) => ({ hash, from: account.address.toLowerCase(), nonce: '0x5' });

  it('has failed when a final block shows that another transaction used it', async () => {
    expect(await findOutcome([taking(`0x${'ad'.repeat(32)}`)])).toEqual({
      outcome: 'failed',
      reason: 'nonce_used_otherwise',
    });
  });

  it('has not failed when it used the nonce itself, or nobody shows who did', async () => {
    expect(await findOutcome([taking(own)])).toEqual({ outcome: 'open', reason: 'receipt_not_shown' });
    expect(await findOutcome([])).toEqual({ outcome: 'open', reason: 'history_too_short' });
  });
});
