import { RpcOutage, RpcRefusal } from './json-rpc.ts';

export interface Coin {
  symbol: string;
  decimals: number;
}

export interface RefundTransfer {
  /** The id of the refund. It distinguishes two equal transfers, so that a chain takes both. */
  id: string;
  /** EVM: the token's contract. Solana: the mint. */
  asset: string;
  recipient: string;
  /** In the asset's smallest unit. */
  amount: bigint;
}

export interface SignedTransfer {
  /** Hash or signature, known before it is sent. */
  transaction: string;
  /** EVM: hex. Solana: base64. */
  rawTransaction: string;
}

export interface BegunTransfer extends RefundTransfer, SignedTransfer {
  sender: string;
  /** Epoch milliseconds, before it was first sent. */
  signedAt: number;
  /**
   * A transaction of the same chain that landed before this one was signed. A node that does not know it has a short
   * memory. Null for none; then the absence of the transfer proves no failure.
   */
  landmark: string | null;
}

export type TransferOutcome =
  /** No fork can take it back. `deep_not_final`: the node names no final blocks, and it is far below the newest. */
  | { outcome: 'settled'; reason: 'deep_not_final' | null }
  /** It is in a block that a fork can still take back. */
  | { outcome: 'landed' }
  /** It is proven that nothing was moved, and that this transaction will never move anything. */
  | { outcome: 'failed'; reason: string }
  /** It may have landed, or may yet. */
  | { outcome: 'open'; reason: string };

export type TransferObstacle =
  | { kind: 'wrong_chain'; actual: string }
  | { kind: 'too_few_tokens'; has: bigint; needs: bigint }
  /** The coins are for the fees. */
  | { kind: 'too_few_coins'; has: bigint; needs: bigint }
  | { kind: 'fees_too_high'; needs: bigint; limit: bigint }
  /** The chain would run it and revert it. */
  | { kind: 'refused'; detail: string };

export interface TransferPreview {
  obstacle: TransferObstacle | null;
  /** The highest cost, in the coin's smallest unit; null where it is not known. */
  cost: bigint | null;
  /** Solana: true when it creates the recipient's token account, which is part of the cost. */
  opensAccount: boolean;
}

/** The node names the price and the wallet pays it, so a lying or overloaded node must not empty the wallet. */
export class FeesTooHigh extends Error {
  override readonly name = 'FeesTooHigh';
}

/** The wallet that refunds are paid from. Its methods throw RpcOutage and RpcRefusal. */
export interface RefundWallet {
  readonly address: string;
  readonly coin: Coin;
  /** Looks at a transfer, and signs nothing. */
  preview(transfer: RefundTransfer, signal: AbortSignal): Promise<TransferPreview>;
  /** Signs a transfer, and sends nothing. Throws FeesTooHigh too. */
  sign(transfer: RefundTransfer, signal: AbortSignal): Promise<SignedTransfer>;
}

/** A chain on which refunds are sent. It needs no key. */
export interface RefundChain {
  /** As `readRefusal`. An objection and silence prove nothing, so no answer of a node makes this reject. */
  send(signed: SignedTransfer, signal: AbortSignal): Promise<string | null>;
  /** The sender's nonce, which another transaction can use; null on a chain without nonces. */
  nonceOf(signed: SignedTransfer): number | null;
  /** Throws RpcOutage and RpcRefusal. */
  findOutcome(transfer: BegunTransfer, signal: AbortSignal): Promise<TransferOutcome>;
}

const maxLength = 200;
/** The words of nodes that have the transaction already, which is no refusal. */
const alreadyThere = /already known|already imported|known transaction|already ?(?:been )?processed/i;
/** A node may write anything: line breaks, terminal colours, its own address with a key in it. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;
const address = /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi;
const longHex = /0x[0-9a-f]{65,}/gi;

/**
 * Sends a transaction, and returns the node's objection in one short line that can be printed. Null when the node has
 * the transaction, or gave no answer. Rejects with errors that no node caused.
 */
export const readRefusal = async (sending: Promise<void>): Promise<string | null> => {
  try {
    await sending;
    return null;
  } catch (error) {
    if (error instanceof RpcOutage) return null;
    if (!(error instanceof RpcRefusal)) throw error;
    if (alreadyThere.test(error.message)) return null;
    const line = error.message
      .slice(0, 10 * maxLength)
      .replace(unprintable, ' ')
      .replace(address, '(address)')
      .replace(longHex, '(bytes)')
      .replace(/\s+/g, ' ')
      .trim();
    return line === '' ? `error ${error.code}` : line.slice(0, maxLength);
  }
};
