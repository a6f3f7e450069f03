import type { Hex } from 'viem';
import type { FoundOutcome } from '../core/facilitator.ts';
import type { TransferMethod } from '../core/network-family.ts';
import type { EvmChain, EvmReceipt } from './evm-chain.ts';

/** A transaction with its receipt. */
export interface MinedTransaction {
  transaction: string;
  receipt: EvmReceipt;
}

/**
 * A signed transfer, with all that differs between the ways in which EVM buyers authorize one. Methods that ask a chain
 * throw RpcOutage or RpcRefusal.
 */
export interface EvmAuthorization {
  readonly method: TransferMethod;
  readonly payer: Hex;
  /** Seconds since 1970; the transfer can happen in no block from then on. */
  readonly validBefore: bigint;
  /** The reason code of an authorization that was not used in time. */
  readonly expiredReason: string;
  /** The reason code of an authorization whose nonce is used. */
  readonly usedReason: string;
  /** Tells whether its nonce was used at the end of a block, by whomever and however. */
  isUsed(chain: EvmChain, block: bigint): Promise<boolean>;
  /** Tells whether a transaction shows the money of this very authorization arriving at the seller. */
  isPaidBy(chain: EvmChain, mined: MinedTransaction): Promise<boolean>;
  /** Finds the outcome of an authorization that was used at the end of that block: settled, failed or unknown. */
  explainUse(chain: EvmChain, block: bigint): Promise<FoundOutcome>;
  /** Returns the reason code for a contract's own words; null when they add nothing. */
  explainRevert(revert: string): string | null;
  /** Returns the reason code of a lack in the buyer's account; null for none. */
  diagnose(chain: EvmChain): Promise<string | null>;
}
