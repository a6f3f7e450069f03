import type { RefundOptions } from '../core/network-family.ts';
import {
  readRefusal,
  type RefundChain,
  type TransferOutcome,
  type RefundTransfer,
  type RefundWallet,
  type TransferPreview,
} from '../core/refund-transfer.ts';
import { createSolanaChain, type SolanaStatus } from './solana-chain.ts';
import { expiryMs, readTip, remembersSince } from './solana-outcome.ts';
import {
  readSolanaTransaction,
  associatedTokenProgram,
  findTokenAccount,
  tokenProgram,
} from './solana-transaction.ts';
import { limitComputeUnits, memo, setComputeUnitPrice, transferChecked } from './solana-transfer.ts';
import {
  blockhash as toBlockhash,
  compileTransaction,
  createKeyPairSignerFromBytes,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  signTransactionMessageWithSigners,
  AccountRole,
  address,
  appendTransactionMessageInstructions,
  createTransactionMessage,
  getU8Encoder,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  type KeyPairSigner,
  type Blockhash,
  type Instruction,
} from '@solana/kit';

/** The clocks of this machine and of the cluster may differ by so much. */
const memoryMarginSeconds = 300;

const open = (reason: string): TransferOutcome => ({ outcome: 'open', reason });

const fromStatus = ({ commitment, error }: SolanaStatus, ageMs: number): TransferOutcome => {
  const isFinal = commitment === 'finalized';
  if (commitment === 'processed') return open('not_confirmed');
  if (error === null) return isFinal ? { outcome: 'settled', reason: null } : { outcome: 'landed' };
  // While its blockhash is valid, a fork that drops the block gives it another chance.
  return isFinal || ageMs >= expiryMs
    ? { outcome: 'failed', reason: 'transaction_failed' }
    : open('failure_not_final');
};

export const createSolanaRefundChain = ({ rpc, now }: Pick<RefundOptions, 'rpc' | 'now'>): RefundChain => ({
  nonceOf: () => null,
  // An earlier sending may have landed. Only the status tells.
  send: ({ rawTransaction }, signal) => readRefusal(createSolanaChain(rpc, signal).send(rawTransaction)),
  findOutcome: async (transfer, signal) => {
    const chain = createSolanaChain(rpc, signal);
    const ageMs = now() - transfer.signedAt;
    const first = await chain.getStatus(transfer.transaction);
    if (first !== null) return fromStatus(first, ageMs);
    const { blockhash } = readSolanaTransaction(transfer.rawTransaction);
    if (ageMs < expiryMs || (await chain.isBlockhashValid(blockhash))) return open('not_landed');
    if (transfer.landmark === null) return open('no_landmark');
    // A node that does not know the transaction is believed only when it is as far as the cluster and knows the
    // landmark.
    if (!(await chain.isCurrent()) || (await chain.getStatus(transfer.landmark)) === null)
      return open('history_too_short');
    // A node that stood still before the signing proves nothing: it knows neither the transaction nor its blockhash.
    const signedSeconds = transfer.signedAt / 1_000;
    const tip = await readTip(chain);
    if (tip.blockTime <= signedSeconds + expiryMs / 1_000) return open('node_is_behind');
    if (!(await remembersSince(chain, { tip, sinceSeconds: signedSeconds - memoryMarginSeconds })))
      return open('history_too_short');
    if (await chain.isBlockhashValid(blockhash, tip.slot)) return open('not_landed');
    if ((await chain.getStatus(transfer.transaction, tip.slot)) !== null) return open('status_not_shown');
    // It may have landed between the questions above.
    const last = await chain.getStatus(transfer.transaction);
    return last === null ? { outcome: 'failed', reason: 'blockhash_expired' } : fromStatus(last, ageMs);
  },
});

const systemProgram = address('11111111111111111111111111111111');

/** Creation of a token account, transfer and memo took up to 60,000 units. */
const computeUnits = 150_000;
const microLamportsPerUnit = 50_000n;

/** The cost of the whole transaction, without the rent of a new account: one signature and the priority. */
const transactionLamports = 5_000n + (BigInt(computeUnits) * microLamportsPerUnit) / 1_000_000n;

const { READONLY, WRITABLE, WRITABLE_SIGNER } = AccountRole;

interface Accounts {
  source: string;
  destination: string;
}

const findTransferAccounts = async (
  { asset: mint, recipient }: RefundTransfer,
  sender: string,
): Promise<Accounts> => ({
  source: await findTokenAccount({ owner: sender, mint }),
  destination: await findTokenAccount({ owner: recipient, mint }),
});

const createTokenAccount = (
  { asset, recipient }: RefundTransfer,
  destination: string,
  signer: KeyPairSigner,
): Instruction => ({
  programAddress: associatedTokenProgram,
  accounts: [
    { address: signer.address, role: WRITABLE_SIGNER },
    { address: address(destination), role: WRITABLE },
    { address: address(recipient), role: READONLY },
    { address: address(asset), role: READONLY },
    { address: systemProgram, role: READONLY },
    { address: tokenProgram, role: READONLY },
  ],
  data: getU8Encoder().encode(1),
});

export const buildTransferMessage = async (
  transfer: RefundTransfer,
  of: {
    signer: KeyPairSigner;
    decimals: number;
    lifetime: { blockhash: Blockhash; lastValidBlockHeight: bigint };
  },
) => {
  const { signer, decimals, lifetime } = of;
  const { id, asset: mint, amount } = transfer;
  const accounts = await findTransferAccounts(transfer, signer.address);
  const instructions = [
    limitComputeUnits(computeUnits),
    setComputeUnitPrice(microLamportsPerUnit),
    createTokenAccount(transfer, accounts.destination, signer),
    transferChecked({ ...accounts, mint, authority: signer.address, amount, decimals }),
    memo(`refund ${id}`),
  ];
  return pipe(
    createTransactionMessage({ version: 0 }),
    (message) => setTransactionMessageFeePayerSigner(signer, message),
    (message) => setTransactionMessageLifetimeUsingBlockhash(lifetime, message),
    (message) => appendTransactionMessageInstructions(instructions, message),
  );
};

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
