import {
  decodeAbiParameters,
  decodeFunctionData,
  encodeFunctionData,
  parseAbi,
  toFunctionSelector,
  type Hex,
} from 'viem';
import type { FoundOutcome } from '../core/facilitator.ts';
import { RpcRefusal } from '../core/json-rpc.ts';
import type { PaymentRequirements } from '../core/wire.ts';
import type { EvmAuthorization } from './evm-authorization.ts';
import { findFirstBlock, type EvmChain, type EvmLog, type EvmTransaction } from './evm-chain.ts';
import { isSameHex, permit2Contracts, type Permit2Payload } from './evm-payload.ts';
import {
  isTransferLog,
  oldestSearched,
  readBlockTransfers,
  readTokenBalance,
  searchLogs,
  toTopic,
  transferEvent,
  type TokenTransfer,
} from './evm-token.ts';

const permit2Abi = parseAbi([
  'function nonceBitmap(address owner, uint256 wordPosition) view returns (uint256)',
]);
const erc20Abi = parseAbi(['function allowance(address owner, address spender) view returns (uint256)']);
const proxyAbi = parseAbi([
  'struct Permitted { address token; uint256 amount; }',
  'struct Permit { Permitted permitted; uint256 nonce; uint256 deadline; }',
  'struct Witness { address to; uint256 validAfter; }',
  'struct Permit2612 { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }',
  'function settle(Permit permit, address owner, Witness witness, bytes signature)',
  'function settleWithPermit(Permit2612 permit2612, Permit permit, address owner, Witness witness, bytes signature)',
]);

const usedReason = 'permit2_invalid_nonce';
const expiredReason = 'permit2_deadline_expired';
const used = { outcome: 'unknown', reason: 'authorization_used' } as const;

/** The contracts refuse with errors that nodes show by their selectors. */
const revertReasons: [string, string][] = [
  ['InvalidNonce()', usedReason],
  ['SignatureExpired(uint256)', expiredReason],
  ['PaymentTooEarly()', 'permit2_not_yet_valid'],
  ['InvalidSignature()', 'invalid_permit2_signature'],
  ['InvalidSigner()', 'invalid_permit2_signature'],
  ['InvalidSignatureLength()', 'invalid_permit2_signature'],
  ['InvalidContractSignature()', 'invalid_permit2_signature'],
];

/** So many similar payments are examined before the block of the use itself is searched. */
const maxCandidates = 25;
const wordBits = 256n;

/** Reads the permission out of a call of x402's proxy; null for any other call. */
const readSettleCall = ({ to, input }: EvmTransaction) => {
  if (to === null || !isSameHex(to, permit2Contracts.proxy)) return null;
  try {
    const call = decodeFunctionData({ abi: proxyAbi, data: input });
    const [permit, owner, witness] =
      call.functionName === 'settle' ? call.args : [call.args[1], call.args[2], call.args[3]];
    return { permit, owner, witness };
  } catch {
    // Another function of the proxy, or none.
    return null;
  }
};

/**
 * A transfer by Permit2, which remembers each nonce of an owner for ever, but logs no use of it. The owner may spend a
 * nonce in any other way. Therefore only a transaction that calls x402's proxy with this authorization counts as its
 * payment: the proxy either pays the recipient that the buyer signed, or reverts.
 */
export const createPermit2Authorization = (
  { permit2Authorization }: Permit2Payload,
  { asset, payTo, amount }: PaymentRequirements,
): EvmAuthorization => {
  const { from } = permit2Authorization;
  const nonce = BigInt(permit2Authorization.nonce);
  const transfer: TokenTransfer = { token: asset, from, to: payTo, amount: BigInt(amount) };

  const isItsCall = (transaction: EvmTransaction | null): boolean => {
    const call = transaction === null ? null : readSettleCall(transaction);
    return (
      call !== null &&
      isSameHex(call.owner, from) &&
      call.permit.nonce === nonce &&
      isSameHex(call.permit.permitted.token, asset) &&
      call.permit.permitted.amount === transfer.amount &&
      isSameHex(call.witness.to, payTo)
    );
  };

  const isPaidBy: EvmAuthorization['isPaidBy'] = async (chain, { transaction, receipt }) =>
    receipt.status === 'success' &&
    receipt.logs.some((log) => isTransferLog(log, transfer)) &&
    isItsCall(await chain.getTransaction(transaction));

  const isUsed = async (chain: EvmChain, block: bigint): Promise<boolean> => {
    const state = await chain.call({
      to: permit2Contracts.permit2,
      data: encodeFunctionData({
        abi: permit2Abi,
        functionName: 'nonceBitmap',
        args: [from, nonce / wordBits],
      }),
      block,
    });
    const [word] = decodeAbiParameters([{ type: 'uint256' }], state);
    return ((word >> (nonce % wordBits)) & 1n) === 1n;
  };

  const transferTopics: Hex[][] = [[transferEvent], [toTopic(from)], [toTopic(payTo)]];

  /** Finds the transaction that paid it among those of the newest `limit` transfers. */
  const findItsCall = async (
    chain: EvmChain,
    { transfers, limit }: { transfers: EvmLog[]; limit: number },
  ): Promise<string | null> => {
    for (const { transactionHash } of transfers.slice(-limit).reverse())
      if (isItsCall(await chain.getTransaction(transactionHash))) return transactionHash;
    return null;
  };

  /** Finds it among the buyer's last payments to the seller. */
  const findSettlement = async (chain: EvmChain, toBlock: bigint): Promise<string | null> => {
    let limit = maxCandidates;
    for await (const logs of searchLogs(chain, { address: asset, topics: transferTopics, toBlock })) {
      const transfers = logs.filter((log) => isTransferLog(log, transfer));
      const found = await findItsCall(chain, { transfers, limit });
      if (found !== null) return found;
      limit -= transfers.length;
      if (limit <= 0) return null;
    }
    return null;
  };

  /** Finds the block of its use; null when that is too long ago, or the node kept no such state. */
  const findBlockOfUse = async (chain: EvmChain, block: bigint): Promise<bigint | null> => {
    const after = oldestSearched(block);
    try {
      if (await isUsed(chain, after)) return null;
      return await findFirstBlock({ after, upTo: block }, (middle) => isUsed(chain, middle));
    } catch (error) {
      if (error instanceof RpcRefusal) return null;
      throw error;
    }
  };

  const explainUse = async (chain: EvmChain, block: bigint): Promise<FoundOutcome> => {
    const transaction = await findSettlement(chain, block);
    if (transaction !== null) return { outcome: 'settled', transaction };
    const usedAt = await findBlockOfUse(chain, block);
    if (usedAt === null) return used;
    const logs = await readBlockTransfers(chain, { block: usedAt, token: asset });
    if (logs === null) return used;
    const transfers = logs.filter((log) => isTransferLog(log, transfer));
    if (transfers.length === 0) return { outcome: 'failed', reason: usedReason };
    const paidBy = await findItsCall(chain, { transfers, limit: maxCandidates });
    // A similar transfer that does not tell which authorization it belongs to: a person has to look.
    return paidBy === null ? used : { outcome: 'settled', transaction: paidBy };
  };

  const readAllowance = async (chain: EvmChain): Promise<bigint> => {
    const args = [from, permit2Contracts.permit2] as const;
    const data = encodeFunctionData({ abi: erc20Abi, functionName: 'allowance', args });
    return decodeAbiParameters([{ type: 'uint256' }], await chain.call({ to: asset, data }))[0];
  };

  return {
    payer: from,
    // Permit2 still takes it in the second of its deadline.
    validBefore: BigInt(permit2Authorization.deadline) + 1n,
    expiredReason,
    usedReason,
    isUsed,
    isPaidBy,
    explainUse,
    explainRevert: (revert) =>
      revertReasons.find(([error]) => revert.includes(toFunctionSelector(error)))?.[1] ?? null,
    diagnose: async (chain) => {
      const [balance, allowance] = await Promise.all([
        readTokenBalance(chain, { asset, owner: from }),
        readAllowance(chain),
      ]);
      if (balance < transfer.amount) return 'permit2_insufficient_balance';
      return allowance < transfer.amount ? 'permit2_allowance_required' : null;
    },
  };
};
