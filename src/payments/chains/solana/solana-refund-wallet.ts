import {
  blockhash as toBlockhash,
  compileTransaction,
  createKeyPairSignerFromBytes,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  signTransactionMessageWithSigners,
  type KeyPairSigner,
} from '@solana/kit';
import type { RefundOptions } from '../core/network-family.ts';
import type { RefundTransfer, RefundWallet, TransferPreview } from '../core/refund-transfer.ts';
import { createSolanaChain } from './solana-chain.ts';
import {
  buildTransferMessage,
  findTransferAccounts,
  transactionLamports,
} from './solana-transfer-message.ts';

const tokenAccountBytes = 165;
/** The characters of the first block's hash by which CAIP-2 names a cluster. */
const referenceLength = 32;

const openSigner = async (secretKey: Uint8Array): Promise<KeyPairSigner> => {
  try {
    return await createKeyPairSignerFromBytes(secretKey);
  } catch {
    // The error of the library may show the key.
    throw new TypeError('its two halves, the seed and the public key, do not belong together');
  }
};

/** Opens a Solana wallet to pay refunds; `secretKey` is seed and public key. Throws TypeError if they differ. */
export const createSolanaRefundWallet = async (
  { network, rpc }: Pick<RefundOptions, 'network' | 'rpc'>,
  secretKey: Uint8Array,
): Promise<RefundWallet> => {
  const signer = await openSigner(secretKey);
  const { decimals } = network.asset;

  const build = async (transfer: RefundTransfer, signal: AbortSignal) => {
    const { blockhash, ...life } = await createSolanaChain(rpc, signal).getLatestBlockhash();
    const lifetime = { ...life, blockhash: toBlockhash(blockhash) };
    return buildTransferMessage(transfer, { signer, decimals, lifetime });
  };

  const preview = async (transfer: RefundTransfer, signal: AbortSignal): Promise<TransferPreview> => {
    const chain = createSolanaChain(rpc, signal);
    const actual = `solana:${(await chain.getGenesisHash()).slice(0, referenceLength)}`;
    if (actual !== network.id)
      return { obstacle: { kind: 'wrong_chain', actual }, cost: null, opensAccount: false };
    const { source, destination } = await findTransferAccounts(transfer, signer.address);
    const [tokens, coins, account, room, ownRoom] = await Promise.all([
      chain.getTokenBalance(source),
      chain.getLamports(signer.address),
      chain.getAccount(destination),
      chain.getRent(tokenAccountBytes),
      chain.getRent(0),
    ]);
    const opensAccount = account === null;
    const cost = transactionLamports + (opensAccount ? room : 0n);
    const found = (obstacle: TransferPreview['obstacle']): TransferPreview => ({
      obstacle,
      cost,
      opensAccount,
    });
    if (tokens < transfer.amount)
      return found({ kind: 'too_few_tokens', has: tokens, needs: transfer.amount });
    // The wallet must keep as much as an account has to hold.
    const needs = cost + ownRoom;
    if (coins < needs) return found({ kind: 'too_few_coins', has: coins, needs });
    // Unsigned, so that the node cannot send it.
    const unsigned = getBase64EncodedWireTransaction(compileTransaction(await build(transfer, signal)));
    const error = await chain.simulate(unsigned);
    // Another run of the same refund was faster, and this very transaction has landed.
    const isFine = error === null || error === 'AlreadyProcessed';
    return found(isFine ? null : { kind: 'refused', detail: JSON.stringify(error) });
  };

  return {
    address: signer.address,
    coin: network.coin,
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
