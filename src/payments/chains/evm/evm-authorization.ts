import { parseAbi, toEventSelector, type Hex } from 'viem';
import type { FoundOutcome } from '../core/facilitator.ts';
import type { TransferMethod } from '../core/network-family.ts';
import type { EvmChain, EvmReceipt, EvmLog } from './evm-chain.ts';
import type { PaymentRequirements } from '../core/wire.ts';
import { isSameHex, type Eip3009Payload } from './evm-payload.ts';
import { isLogOf, isTransferLog, readContract, searchLogs, toTopic } from './evm-token.ts';

export interface MinedTransaction {
  transaction: string;
  receipt: EvmReceipt;
}

/** All that differs between the ways to authorize a transfer. Questions to a chain throw RpcOutage or RpcRefusal. */
export interface EvmAuthorization {
  readonly method: TransferMethod;
  readonly payer: Hex;
  /** Seconds since 1970; the transfer can happen in no block from then on. */
  readonly validBefore: bigint;
  readonly expiredReason: string;
  readonly usedReason: string;
  /** Tells whether its nonce was used at the end of a block, by whomever and however. */
  isUsed(chain: EvmChain, block: bigint): Promise<boolean>;
  /** Tells whether a transaction shows the money of this very authorization arriving at the seller. */
  isPaidBy(chain: EvmChain, mined: MinedTransaction): Promise<boolean>;
  /** Finds the outcome of an authorization that was used at the end of that block: settled, failed or unknown. */
  explainUse(chain: EvmChain, block: bigint): Promise<FoundOutcome>;
  /** Returns the reason code for a contract's own words; null when they add nothing. */
  explainRevert(revert: string): string | null;
  diagnose(chain: EvmChain): Promise<string | null>;
}

export const eip3009Abi = parseAbi([
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
]);
const authorizationUsedEvent = toEventSelector('AuthorizationUsed(address,bytes32)');
const authorizationCanceledEvent = toEventSelector('AuthorizationCanceled(address,bytes32)');

const usedReason = 'invalid_exact_evm_nonce_already_used';
const expiredReason = 'invalid_exact_evm_payload_authorization_valid_before';

const revertReasons: [RegExp, string][] = [
  [/exceeds balance|insufficient balance/i, 'invalid_exact_evm_insufficient_balance'],
  [/authorization is used/i, usedReason],
  [/authorization is expired/i, expiredReason],
  [/authorization is not yet valid/i, 'invalid_exact_evm_payload_authorization_valid_after'],
  [/invalid signature/i, 'invalid_exact_evm_signature'],
];

/** A transfer by ERC-3009. The token remembers each nonce for ever, and logs its use right before the transfer. */
export const createEip3009Authorization = (
  { authorization }: Eip3009Payload,
  { asset, payTo, amount }: PaymentRequirements,
): EvmAuthorization => {
  const { from, nonce, validBefore } = authorization;
  const transfer = { token: asset, from, to: payTo, amount: BigInt(amount) };
  const isTransfer = (log: EvmLog): boolean => isTransferLog(log, transfer);
  const isUse = (log: EvmLog): boolean => isLogOf(log, asset, [authorizationUsedEvent, toTopic(from), nonce]);

  /** A transfer elsewhere in the transaction belongs to another authorization, however alike the two are. */
  const readReceipt = ({ status, logs }: EvmReceipt): 'paid' | 'used_otherwise' | 'unclear' => {
    const use = status === 'success' ? logs.findIndex(isUse) : -1;
    if (use === -1) return 'unclear';
    if (logs.slice(use + 1, use + 2).some(isTransfer)) return 'paid';
    return logs.some(isTransfer) ? 'unclear' : 'used_otherwise';
  };

  const findEnd = async (chain: EvmChain, toBlock: bigint): Promise<EvmLog | null> => {
    const topics = [[authorizationUsedEvent, authorizationCanceledEvent], toTopic(from), nonce];
    for await (const logs of searchLogs(chain, { address: asset, topics, toBlock })) {
      const found = logs.at(-1);
      if (found !== undefined) return found;
    }
    return null;
  };

  const explainUse = async (chain: EvmChain, block: bigint): Promise<FoundOutcome> => {
    const log = await findEnd(chain, block);
    if (log === null) return { outcome: 'unknown', reason: 'authorization_used' };
    if (isSameHex(log.topics[0] ?? '', authorizationCanceledEvent))
      return { outcome: 'failed', reason: 'authorization_canceled' };
    const receipt = await chain.getReceipt(log.transactionHash);
    switch (receipt === null ? 'unclear' : readReceipt(receipt)) {
      case 'paid':
        return { outcome: 'settled', transaction: log.transactionHash };
      case 'used_otherwise':
        return { outcome: 'failed', reason: usedReason };
      case 'unclear':
        return { outcome: 'unknown', reason: 'authorization_used' };
    }
  };

  return {
    method: 'eip3009',
    payer: from,
    validBefore: BigInt(validBefore),
    expiredReason,
    usedReason,
    isUsed: (chain, block) =>
      readContract(chain, {
        address: asset,
        abi: eip3009Abi,
        functionName: 'authorizationState',
        args: [from, nonce],
        block,
      }),
    isPaidBy: async (_chain, { receipt }) => readReceipt(receipt) === 'paid',
    explainUse,
    explainRevert: (revert) => revertReasons.find(([pattern]) => pattern.test(revert))?.[1] ?? null,
    // The token's own words are precise enough.
    diagnose: async () => null,
  };
};
