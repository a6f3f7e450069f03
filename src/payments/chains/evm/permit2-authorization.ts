import { parseAbi, toFunctionSelector, decodeFunctionData, type Hex } from 'viem';
import { instead } from '../../../kit/errors.ts';
import type { FoundOutcome, PaymentOrder } from '../core/facilitator.ts';
import { isRefusal } from '../core/json-rpc.ts';
import type { PaymentScheme } from '../core/wire.ts';
import type { EvmAuthorization } from './evm-authorization.ts';
import { findFirstBlock, type EvmChain, type EvmLog, type EvmTransaction } from './evm-chain.ts';
import { isSameHex, permit2Contracts, type Permit2Payload } from './evm-payload.ts';
import {
  isTransferLog,
  oldestSearched,
  readBlockTransfers,
  readContract,
  readPermit2Allowance,
  readTokenBalance,
  searchLogs,
  transferTopics,
  type TokenTransfer,
} from './evm-token.ts';

const permits = [
  'struct Permitted { address token; uint256 amount; }',
  'struct Permit { Permitted permitted; uint256 nonce; uint256 deadline; }',
  'struct Permit2612 { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }',
] as const;
const exactAbi = parseAbi([
  ...permits,
  'struct Witness { address to; uint256 validAfter; }',
  'function settle(Permit permit, address owner, Witness witness, bytes signature)',
  'function settleWithPermit(Permit2612 permit2612, Permit permit, address owner, Witness witness, bytes signature)',
]);
const uptoAbi = parseAbi([
  ...permits,
  'struct Witness { address to; address facilitator; uint256 validAfter; }',
  'function settle(Permit permit, uint256 amount, address owner, Witness witness, bytes signature)',
  'function settleWithPermit(Permit2612 permit2612, Permit permit, uint256 amount, address owner, Witness witness, bytes signature)',
]);

interface Permit extends TokenTransfer {
  from: Hex;
  nonce: bigint;
  scheme: PaymentScheme;
  /** The most that the owner signed. By the scheme `upto`, `amount` may be less. */
  signed: bigint;
}

const readExact = (data: Hex): Permit => {
  const { functionName, args } = decodeFunctionData({ abi: exactAbi, data });
  const [{ nonce, permitted }, from, { to }] = functionName === 'settle' ? args : [args[1], args[2], args[3]];
  const { token, amount } = permitted;
  return { scheme: 'exact', from, nonce, token, signed: amount, amount, to };
};

const readUpto = (data: Hex): Permit => {
  const { functionName, args } = decodeFunctionData({ abi: uptoAbi, data });
  const [{ nonce, permitted }, amount, from, { to }] =
    functionName === 'settle' ? args : [args[1], args[2], args[3], args[4]];
  const { token, amount: signed } = permitted;
  return { scheme: 'upto', from, nonce, token, signed, amount, to };
};

/** Reads the call of a transaction; null when it is none of a proxy's settlements. */
const readProxyCall = ({ to, input }: EvmTransaction): Permit | null => {
  if (to === null) return null;
  try {
    if (isSameHex(to, permit2Contracts.proxy)) return readExact(input);
    return isSameHex(to, permit2Contracts.uptoProxy) ? readUpto(input) : null;
  } catch {
    // Another function of the proxy, or none.
    return null;
  }
};

const permit2Abi = parseAbi([
  'function nonceBitmap(address owner, uint256 wordPosition) view returns (uint256)',
]);

const usedReason = 'permit2_invalid_nonce';
const expiredReason = 'permit2_deadline_expired';

/** The contracts refuse with errors that nodes show by their selectors. */
const revertReasons: [string, string][] = [
  ['InvalidNonce()', usedReason],
  ['SignatureExpired(uint256)', expiredReason],
  ['PaymentTooEarly()', 'permit2_not_yet_valid'],
  ['InvalidSignature()', 'invalid_permit2_signature'],
  ['InvalidSigner()', 'invalid_permit2_signature'],
  ['InvalidSignatureLength()', 'invalid_permit2_signature'],
  ['InvalidContractSignature()', 'invalid_permit2_signature'],
  ['UnauthorizedFacilitator()', 'upto_unauthorized_facilitator'],
];

/** So many similar payments are examined before the block of the use itself is searched. */
const maxCandidates = 25;
const wordBits = 256n;

const nameOf = ({ scheme, from, nonce, token, signed, amount, to }: Permit): string =>
  [scheme, from, nonce, token, signed, amount, to].join(' ').toLowerCase();

/** Tells whether a transaction calls x402's proxy with this permit, and takes just this amount. */
const isCallOf = (permit: Permit, transaction: EvmTransaction | null): boolean => {
  const call = transaction === null ? null : readProxyCall(transaction);
  return call !== null && nameOf(call) === nameOf(permit);
};

const isUsed = async (permit: Permit, chain: EvmChain, block: bigint): Promise<boolean> => {
  const word = await readContract(chain, {
    address: permit2Contracts.permit2,
    abi: permit2Abi,
    functionName: 'nonceBitmap',
    args: [permit.from, permit.nonce / wordBits],
    block,
  });
  return ((word >> (permit.nonce % wordBits)) & 1n) === 1n;
};

const findCall = async (
  permit: Permit,
  chain: EvmChain,
  { transfers, limit }: { transfers: EvmLog[]; limit: number },
): Promise<string | null> => {
  for (const { transactionHash } of transfers.slice(-limit).reverse())
    if (isCallOf(permit, await chain.getTransaction(transactionHash))) return transactionHash;
  return null;
};

/** Finds the transaction that paid it among the buyer's last payments to the seller. */
const findSettlement = async (permit: Permit, chain: EvmChain, toBlock: bigint): Promise<string | null> => {
  let limit = maxCandidates;
  const filter = { address: permit.token, topics: transferTopics(permit), toBlock };
  for await (const logs of searchLogs(chain, filter)) {
    const transfers = logs.filter((log) => isTransferLog(log, permit));
    const found = await findCall(permit, chain, { transfers, limit });
    if (found !== null) return found;
    limit -= transfers.length;
    if (limit <= 0) return null;
  }
  return null;
};

/** Finds the block of its use; null when that is too long ago, or the node kept no such state. */
const findBlockOfUse = async (permit: Permit, chain: EvmChain, block: bigint): Promise<bigint | null> => {
  const after = oldestSearched(block);
  const search = async (): Promise<bigint | null> =>
    (await isUsed(permit, chain, after))
      ? null
      : findFirstBlock({ after, upTo: block }, (middle) => isUsed(permit, chain, middle));
  return search().catch(instead(null, isRefusal));
};

const explainUse = async (permit: Permit, chain: EvmChain, block: bigint): Promise<FoundOutcome> => {
  const settlement = await findSettlement(permit, chain, block);
  if (settlement !== null) return { outcome: 'settled', transaction: settlement };
  const usedAt = await findBlockOfUse(permit, chain, block);
  const logs =
    usedAt === null ? null : await readBlockTransfers(chain, { block: usedAt, token: permit.token });
  if (logs === null) return { outcome: 'unknown', reason: 'authorization_used' };
  const transfers = logs.filter((log) => isTransferLog(log, permit));
  if (transfers.length === 0) return { outcome: 'failed', reason: usedReason };
  const paidBy = await findCall(permit, chain, { transfers, limit: maxCandidates });
  // A similar transfer, whose authorization cannot be determined. A person has to look.
  return paidBy === null
    ? { outcome: 'unknown', reason: 'authorization_used' }
    : { outcome: 'settled', transaction: paidBy };
};

const diagnose = async ({ token, from, signed }: Permit, chain: EvmChain): Promise<string | null> => {
  const holding = { asset: token, owner: from };
  const [balance, allowance] = await Promise.all([
    readTokenBalance(chain, holding),
    readPermit2Allowance(chain, holding),
  ]);
  if (balance < signed) return 'permit2_insufficient_balance';
  return allowance < signed ? 'permit2_allowance_required' : null;
};

/**
 * A transfer by Permit2, which remembers each nonce of an owner for ever, but logs no use of it. The owner may spend a
 * nonce in any other way. Therefore only a transaction that calls x402's proxy with this authorization counts as its
 * payment: the proxy either pays the recipient that the buyer signed, or reverts. By the scheme `upto` the call also
 * says how much it takes, and only the amount that this payment takes counts.
 */
export const createPermit2Authorization = (
  { permit2Authorization: { from, nonce, deadline } }: Permit2Payload,
  { requirements: { scheme, asset, payTo, amount }, charge = BigInt(amount) }: Omit<PaymentOrder, 'payload'>,
): EvmAuthorization => {
  const permit: Permit = {
    token: asset,
    from,
    to: payTo,
    amount: charge,
    signed: BigInt(amount),
    nonce: BigInt(nonce),
    scheme,
  };
  return {
    method: 'permit2',
    payer: from,
    // Permit2 still takes it in the second of its deadline.
    validBefore: BigInt(deadline) + 1n,
    expiredReason,
    usedReason,
    isUsed: (chain, block) => isUsed(permit, chain, block),
    isPaidBy: async (chain, { transaction, receipt }) =>
      receipt.status === 'success' &&
      receipt.logs.some((log) => isTransferLog(log, permit)) &&
      isCallOf(permit, await chain.getTransaction(transaction)),
    explainUse: (chain, block) => explainUse(permit, chain, block),
    explainRevert: (revert) =>
      revertReasons.find(([error]) => revert.includes(toFunctionSelector(error)))?.[1] ?? null,
    diagnose: (chain) => diagnose(permit, chain),
  };
};
