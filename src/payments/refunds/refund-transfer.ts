/** The currency in which a chain takes its fees. */
export interface Coin {
  symbol: string;
  decimals: number;
}

/** A transfer of tokens that gives money back. */
export interface RefundTransfer {
  /** Of the refund: it makes this transfer another than one that is alike, so that a chain takes both. */
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

/** A transfer that was signed, and may have been sent. */
export interface BegunTransfer extends RefundTransfer, SignedTransfer {
  sender: string;
  /** Epoch milliseconds; before it was first sent. */
  signedAt: number;
  /**
   * A transaction of the same chain that is known to have landed before this one was signed: a node that does not know
   * it has a short memory. Null for none; then nothing that is missing proves a failure.
   */
  landmark: string | null;
}

export type TransferOutcome =
  /** No fork can take it back. `deep_not_final`: the node names no final blocks, and it lies deep below the newest. */
  | { outcome: 'settled'; reason: 'deep_not_final' | null }
  /** The chain shows it, where a fork can still take it back. */
  | { outcome: 'landed' }
  /** Proven: nothing was moved, and this transaction will never move anything. */
  | { outcome: 'failed'; reason: string }
  /** It may have landed, or may yet. */
  | { outcome: 'open'; reason: string };

/** Why a transfer cannot be made now. */
export type TransferObstacle =
  | { kind: 'wrong_chain'; actual: string }
  | { kind: 'too_few_tokens'; has: bigint; needs: bigint }
  /** Of the chain's own coin, for the fees. */
  | { kind: 'too_few_coins'; has: bigint; needs: bigint }
  | { kind: 'fees_too_high'; needs: bigint; limit: bigint }
  /** The chain would run it and refuse it. */
  | { kind: 'refused'; detail: string };

export interface TransferPreview {
  obstacle: TransferObstacle | null;
  /** The most that it will cost, in the coin's smallest unit; null where that could not be told. */
  cost: bigint | null;
  /** Solana: whether the recipient's token account is made with it, which is part of the cost. */
  opensAccount: boolean;
}

/** The node names the price, and the wallet pays it: a lying or overloaded node must not empty the wallet. */
export class FeesTooHigh extends Error {
  override readonly name = 'FeesTooHigh';
}

/** The wallet that refunds are paid from. Its methods throw RpcOutage and RpcRefusal. */
export interface RefundWallet {
  readonly address: string;
  readonly coin: Coin;
  /** Signs nothing. */
  preview(transfer: RefundTransfer, signal: AbortSignal): Promise<TransferPreview>;
  /** Signs and sends nothing. Throws FeesTooHigh too. */
  sign(transfer: RefundTransfer, signal: AbortSignal): Promise<SignedTransfer>;
}

/** A chain on which refunds were sent, for which no key is needed. */
export interface RefundChain {
  /**
   * What the node says against it, in one line that can be printed, null for nothing. It proves nothing, and neither does
   * silence, so no node makes this reject.
   */
  send(signed: SignedTransfer, signal: AbortSignal): Promise<string | null>;
  /** The place among its sender's transactions, which another one can take; null where the chain has no such places. */
  nonceOf(signed: SignedTransfer): number | null;
  /** What the chain says alone. Throws RpcOutage and RpcRefusal. */
  findOutcome(transfer: BegunTransfer, signal: AbortSignal): Promise<TransferOutcome>;
}
