import {
  compileTransaction,
  createKeyPairSignerFromBytes,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import type { JsonRpc } from '../core/json-rpc.ts';
import { createSolanaChain } from './solana-chain.ts';
import type { PaymentNetwork } from '../core/networks.ts';
import type { Coin, RefundTransfer, RefundWallet, TransferPreview } from '../refunds/refund-transfer.ts';
import { createSolanaQuestions } from './solana-questions.ts';
import {
  buildTransferMessage,
  findTransferAccounts,
  transactionLamports,
} from './solana-transfer-message.ts';

const tokenAccountBytes = 165;
/** CAIP-2 names a cluster by so much of its first block's hash. */
const referenceLength = 32;

/** Pays refunds from one wallet on a Solana cluster; `secretKey` is seed and public key, 64 bytes. */
export const createSolanaRefundWallet = async ({
  network,
  coin,
  secretKey,
  rpc,
}: {
  network: PaymentNetwork;
  coin: Coin;
  secretKey: Uint8Array;
  rpc: JsonRpc;
}): Promise<RefundWallet> => {
  const signer = await createKeyPairSignerFromBytes(secretKey);
  const { decimals } = network.asset;

  const build = async (transfer: RefundTransfer, signal: AbortSignal) => {
    const lifetime = await createSolanaQuestions(rpc, signal).latestBlockhash();
    return buildTransferMessage(transfer, { signer, decimals, lifetime });
  };

  const preview = async (transfer: RefundTransfer, signal: AbortSignal): Promise<TransferPreview> => {
    const chain = createSolanaChain(rpc, signal);
    const questions = createSolanaQuestions(rpc, signal);
    const actual = `solana:${(await chain.getGenesisHash()).slice(0, referenceLength)}`;
    if (actual !== network.id)
      return { obstacle: { kind: 'wrong_chain', actual }, cost: null, opensAccount: false };
    const { source, destination } = await findTransferAccounts(transfer, signer.address);
    const [tokens, coins, isThere, room, ownRoom] = await Promise.all([
      questions.tokenBalance(source),
      chain.getBalance(signer.address),
      chain.hasAccount(destination),
      questions.rentOf(tokenAccountBytes),
      questions.rentOf(0),
    ]);
    const cost = transactionLamports + (isThere ? 0n : room);
    const found = { cost, opensAccount: !isThere };
    if (tokens < transfer.amount)
      return { ...found, obstacle: { kind: 'too_few_tokens', has: tokens, needs: transfer.amount } };
    // A wallet may not be left with less than an account must hold.
    const needs = cost + ownRoom;
    if (BigInt(coins) < needs)
      return { ...found, obstacle: { kind: 'too_few_coins', has: BigInt(coins), needs } };
    // Without its signature, which a node could make use of.
    const unsigned = getBase64EncodedWireTransaction(compileTransaction(await build(transfer, signal)));
    const error = await chain.simulate(unsigned);
    // Another run over the same refund was faster: it is this very transaction that has landed.
    if (error === null || error === 'AlreadyProcessed') return { ...found, obstacle: null };
    return { ...found, obstacle: { kind: 'refused', detail: JSON.stringify(error) } };
  };

  return {
    address: signer.address,
    coin,
    preview,
    sign: async (transfer, signal) => {
      const signed = await signTransactionMessageWithSigners(await build(transfer, signal));
      return {
        transaction: getSignatureFromTransaction(signed),
        rawTransaction: getBase64EncodedWireTransaction(signed),
      };
    },
  };
};
