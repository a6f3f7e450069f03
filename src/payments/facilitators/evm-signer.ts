import { concatHex, decodeFunctionResult, encodeFunctionData, type Hex } from 'viem';
import type { FacilitatorEvmSigner } from '@x402/evm';
import type { EvmAccount, EvmSending, EvmSent } from './evm-account.ts';
import type { MinedTransaction } from './evm-authorization.ts';
import { isRevert, type EvmChain, type EvmReceipt } from './evm-chain.ts';
import { readFeeMarket } from './evm-fees.ts';
import { waitFor } from './wait.ts';

/** What happened underneath one call of the x402 scheme, which tells chain, contract and proof not apart. */
export interface EvmCallRecord {
  /** Whether the node failed to answer something; then the scheme's verdict says nothing about the proof. */
  isOutage: boolean;
  /** The contract's last words, when it refused, and the selector of its error. */
  revert: string | null;
  sent: EvmSent | null;
  receipt: EvmReceipt | null;
}

/** Transfers cost 60 to 130 thousand; a contract wallet's signature check may cost more. */
const maxGas = 500_000n;
/** 0x and four bytes. */
const selectorCharacters = 10;
const firstPollMs = 50;
const maxPollMs = 1_000;

/** Passes with time, and says nothing of the proof: like an outage. */
class GasTooDear extends Error {
  override readonly name = 'GasTooDear';
}

/** The chain would run it, but at a price that is not worth it. */
class TransferTooCostly extends Error {
  override readonly name = 'TransferTooCostly';
}

/** Asks until one of the transactions has a receipt; null when the signal ended the wait. */
export const waitForEvmReceipt = async (
  chain: EvmChain,
  transactions: readonly string[],
  signal: AbortSignal,
): Promise<MinedTransaction | null> => {
  for (let pauseMs = firstPollMs; !signal.aborted; pauseMs = Math.min(pauseMs * 2, maxPollMs)) {
    for (const transaction of transactions) {
      // An outage here says nothing: the transaction is out, and only the end of the wait decides.
      const receipt = await chain.getReceipt(transaction).catch(() => null);
      if (receipt !== null) return { transaction, receipt };
    }
    if (!(await waitFor(pauseMs, signal))) return null;
  }
  return null;
};

const estimate = async (
  chain: EvmChain,
  { maxGasCost, ...call }: { from: Hex; to: Hex; data: Hex; maxGasCost: bigint },
) => {
  const [gas, { fees }] = await Promise.all([chain.estimateGas(call), readFeeMarket(chain)]);
  if (gas > maxGas) throw new TransferTooCostly('the transfer needs too much gas');
  const gasLimit = (gas * 5n) / 4n;
  // The node names the price, and the account pays it: a lying or overloaded one must not empty the account.
  if (gasLimit * fees.maxFeePerGas > maxGasCost) throw new GasTooDear('gas costs too much now');
  return { gas: gasLimit, ...fees };
};

export const newCallRecord = (): EvmCallRecord => ({
  isOutage: false,
  revert: null,
  sent: null,
  receipt: null,
});

/** The signer of one verify or settle call; everything it learns goes into `record`. */
export const createEvmSigner = (options: {
  account: EvmAccount;
  sending: EvmSending;
  record: EvmCallRecord;
  /** The most that one settlement may cost, in wei. */
  maxGasCost: bigint;
}): FacilitatorEvmSigner => {
  const { account, sending, record, maxGasCost } = options;
  const { chain, signal } = sending;

  const note = (error: unknown): void => {
    if (isRevert(error)) record.revert = `${error.message} ${error.data?.slice(0, selectorCharacters) ?? ''}`;
    else if (error instanceof TransferTooCostly) record.revert = error.message;
    else record.isOutage = true;
  };
  const noting = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      note(error);
      throw error;
    }
  };
  const send = async (to: Hex, data: Hex): Promise<Hex> => {
    const fees = await noting(estimate(chain, { from: account.address, to, data, maxGasCost }));
    const sent = await noting(account.send({ to, data, ...fees }, sending));
    record.sent = sent;
    return sent.transaction;
  };

  return {
    getAddresses: () => [account.address],
    // Never rejects: the scheme starts this call without waiting for it, and a rejection that nobody
    // handles would end the process. The record knows of the outage.
    getCode: async ({ address }) => {
      try {
        return await chain.getCode(address);
      } catch (error) {
        note(error);
        return undefined;
      }
    },
    readContract: async ({ address, abi, functionName, args }) => {
      const data = encodeFunctionData({ abi, functionName, args });
      const result = await noting(chain.call({ to: address, data }));
      return decodeFunctionResult({ abi, functionName, args, data: result });
    },
    writeContract: ({ address, abi, functionName, args, dataSuffix }) => {
      const data = encodeFunctionData({ abi, functionName, args });
      return send(address, dataSuffix === undefined ? data : concatHex([data, dataSuffix]));
    },
    waitForTransactionReceipt: async ({ hash }) => {
      // A transaction that the node refused is in no pool; there is nothing to wait for.
      if (record.sent?.result !== 'refused')
        record.receipt = (await waitForEvmReceipt(chain, [hash], signal))?.receipt ?? null;
      if (record.receipt === null) throw new Error('no receipt yet');
      return { status: record.receipt.status };
    },
    sendTransaction: () => Promise.reject(new Error('wallets are not deployed here')),
    verifyTypedData: () => Promise.reject(new Error('signatures are checked by the scheme')),
  };
};
