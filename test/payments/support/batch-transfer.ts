import {
  concatHex,
  createPublicClient,
  createTestClient,
  createWalletClient,
  encodeFunctionData,
  http,
  pad,
  parseAbi,
  size,
  toHex,
  type Hex,
} from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';
import { parseProof, type Proofs } from '../../../src/payments/wire/parse-proof.ts';
import { toEvmPayload } from '../../../src/payments/chains/evm/evm-payload.ts';
import type { Chains } from '../../chains/start-chains.ts';
import { createBuyer, type Buyer } from './buyer.ts';

const abi = parseAbi([
  'function transferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce,bytes signature)',
]);
const authorizationType = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const;

/** A buyer that sends transactions of its own, to use its authorizations in other ways than it promised. */
export interface CunningBuyer {
  buyer: Buyer;
  /** The call that pays what the proof promises. */
  honestCall(proofs: Proofs): Hex;
  /** A call that uses up the proof's nonce by sending nothing to itself. */
  burningCall(proofs: Proofs): Promise<Hex>;
  /** Sends calls of the token in one transaction, ahead of every other, and answers its hash. */
  sendBatch(calls: Hex[]): Promise<Hex>;
  /** Waits until the transaction is in a block. */
  landed(hash: Hex): Promise<void>;
}

const wordBytes = 4;

/** Init code that calls `token` with each of `calls` and creates nothing. */
export const batchCode = (token: Hex, calls: Hex[]): Hex => {
  const word = (value: number): string => pad(toHex(value), { size: wordBytes }).slice(2);
  // PUSH4 size, PUSH4 offset, PUSH0, CODECOPY; then CALL(gas, token, 0, 0, size, 0, 0) and POP.
  const one = (length: number, offset: number): string =>
    `63${word(length)}63${word(offset)}5f395f5f63${word(length)}5f5f73${token.slice(2)}5af150`;
  let offset = (one(0, 0).length / 2) * calls.length + 1;
  let code = '';
  for (const call of calls) {
    code += one(size(call), offset);
    offset += size(call);
  }
  return concatHex([`0x${code}00`, ...calls]);
};

export const createCunningBuyer = async (chains: Chains): Promise<CunningBuyer> => {
  const { base } = chains;
  const privateKey = generatePrivateKey();
  const account = privateKeyToAccount(privateKey);
  const options = { chain: baseSepolia, transport: http(base.rpcUrl), pollingInterval: 20 };
  const wallet = createWalletClient({ ...options, account });
  await base.mint(account.address, 10_000_000n);
  await createTestClient({ ...options, mode: 'anvil' }).setBalance({
    address: account.address,
    value: 10n ** 18n,
  });
  const authorizationOf = (proofs: Proofs) => {
    const payload = toEvmPayload(parseProof(proofs).payload);
    if (!('authorization' in payload)) throw new TypeError('not an EVM proof');
    return payload;
  };
  const call = (
    authorization: { from: Hex; to: Hex; value: bigint; validAfter: bigint; validBefore: bigint; nonce: Hex },
    signature: Hex,
  ): Hex => {
    const { from, to, value, validAfter, validBefore, nonce } = authorization;
    return encodeFunctionData({
      abi,
      functionName: 'transferWithAuthorization',
      args: [from, to, value, validAfter, validBefore, nonce, signature],
    });
  };
  return {
    buyer: await createBuyer({
      ...chains,
      base: { ...base, buyer: { address: account.address, privateKey } },
    }),
    honestCall: (proofs) => {
      const { authorization, signature } = authorizationOf(proofs);
      const { from, to, nonce } = authorization as { from: Hex; to: Hex; nonce: Hex };
      return call(
        {
          from,
          to,
          nonce,
          value: BigInt(authorization.value),
          validAfter: BigInt(authorization.validAfter),
          validBefore: BigInt(authorization.validBefore),
        },
        signature,
      );
    },
    burningCall: async (proofs) => {
      const authorization = {
        from: account.address,
        to: account.address,
        value: 0n,
        validAfter: 0n,
        validBefore: 99_999_999_999n,
        nonce: authorizationOf(proofs).authorization.nonce,
      };
      const signature = await account.signTypedData({
        domain: { name: 'USDC', version: '2', chainId: baseSepolia.id, verifyingContract: base.usdc },
        primaryType: 'TransferWithAuthorization',
        types: { TransferWithAuthorization: authorizationType },
        message: authorization,
      });
      return call(authorization, signature);
    },
    sendBatch: (calls) =>
      wallet.sendTransaction({
        data: batchCode(base.usdc, calls),
        gas: 3_000_000n,
        maxPriorityFeePerGas: 50_000_000_000n,
        maxFeePerGas: 100_000_000_000n,
      }),
    landed: async (hash) => {
      await createPublicClient(options).waitForTransactionReceipt({ hash });
    },
  };
};
