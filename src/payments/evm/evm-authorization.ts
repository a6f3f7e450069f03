import type { EvmChain, EvmReceipt } from './evm-chain.ts';
import type { FoundOutcome } from '../core/facilitator.ts';
import type { Hex } from '../core/wire.ts';

/** A receipt with the transaction that it belongs to. */
export interface MinedTransaction {
  transaction: string;
  receipt: EvmReceipt;
}

/**
 * One signed transfer as the chain remembers it: all that differs between the ways in which EVM buyers authorize one.
 * The methods that ask a chain throw RpcOutage or RpcRefusal.
 */
export interface EvmAuthorization {
  readonly payer: Hex;
  /** Seconds since 1970; the transfer can happen in no block from then on. */
  readonly validBefore: bigint;
  /** The reason code of one that was not used in time. */
  readonly expiredReason: string;
  /** The reason code of one whose nonce is used. */
  readonly usedReason: string;
  /** Whether its nonce was used, by whomever and however, at the end of that block. */
  isUsed(chain: EvmChain, block: bigint): Promise<boolean>;
  /** Whether this transaction shows the money of this very authorization arriving at the seller. */
  isPaidBy(chain: EvmChain, mined: MinedTransaction): Promise<boolean>;
  /** What became of one that was used at the end of that block: settled, failed or unknown. */
  explainUse(chain: EvmChain, block: bigint): Promise<FoundOutcome>;
  /** The reason code in a contract's own words; null when they say nothing more. */
  explainRevert(revert: string): string | null;
  /** The reason code of what the buyer's account lacks; null when nothing is found. */
  diagnose(chain: EvmChain): Promise<string | null>;
}
