import { concatHex, decodeFunctionResult, encodeFunctionData, type Hex } from 'viem';
import type { FacilitatorEvmSigner } from '@x402/evm';
import type { EvmAccount, EvmSending, EvmSent } from './evm-account.ts';
import { isRevert, type EvmChain, type EvmReceipt } from './evm-chain.ts';
import { waitFor } from './wait.ts';

/** What happened underneath one call of the x402 scheme, which tells chain, contract and proof not apart. */
export interface EvmCallRecord {
  /** Whether the node failed to answer something; then the scheme's verdict says nothing about the proof. */
  isOutage: boolean;
  /** The contract's last words, when it refused. */
  revert: string | null;
  sent: EvmSent | null;
  receipt: EvmReceipt | null;
}

/** Transfers cost 60 to 90 thousand; a contract wallet's signature check may cost more. */
const maxGas = 500_000n;
const firstPollMs = 50;
const maxPollMs = 1_000;

/** What one settlement may cost at most: 0.005 of the chain's coin, hundreds of times the usual on Base. */
const maxCostWei = 5_000_000_000_000_000n;

/** Passes with time, and says nothing of the proof: like an outage. */
class GasTooDear extends Error {
  override readonly name = 'GasTooDear';
}

/** The chain would run it, but at a price that is not worth it. */
class TransferTooCostly extends Error {
  override readonly name = 'TransferTooCostly';
}

/** Asks until there is a receipt; null when the signal ended the wait. */
export const waitForEvmReceipt = async (
  chain: EvmChain,
  hash: string,
  signal: AbortSignal,
): Promise<EvmReceipt | null> => {
  for (let pauseMs = firstPollMs; !signal.aborted; pauseMs = Math.min(pauseMs * 2, maxPollMs)) {
    // An outage here says nothing: the transaction is out, and only the end of the wait decides.
    const receipt = await chain.getReceipt(hash).catch(() => null);
    if (receipt !== null) return receipt;
    if (!(await waitFor(pauseMs, signal))) return null;
  }
  return null;
};

const estimate = async (chain: EvmChain, call: { from: Hex; to: Hex; data: Hex }) => {
  const [gas, block, maxPriorityFeePerGas] = await Promise.all([
    chain.estimateGas(call),
    chain.getBlock(),
    chain.getPriorityFee(),
  ]);
  if (gas > maxGas) throw new TransferTooCostly('the transfer needs too much gas');
  const gasLimit = (gas * 5n) / 4n;
  // Stays payable while the base fee doubles.
  const maxFeePerGas = block.baseFeePerGas * 2n + maxPriorityFeePerGas;
  // The node names the price, and the account pays it: a lying or overloaded one must not empty the account.
  if (gasLimit * maxFeePerGas > maxCostWei) throw new GasTooDear('gas costs too much now');
  return { gas: gasLimit, maxPriorityFeePerGas, maxFeePerGas };
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
}): FacilitatorEvmSigner => {
  const { account, sending, record } = options;
  const { chain, signal } = sending;

  const note = (error: unknown): void => {
    if (isRevert(error) || error instanceof TransferTooCostly) record.revert = error.message;
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
    const fees = await noting(estimate(chain, { from: account.address, to, data }));
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
      if (record.sent?.result !== 'refused') record.receipt = await waitForEvmReceipt(chain, hash, signal);
      if (record.receipt === null) throw new Error('no receipt yet');
      return { status: record.receipt.status };
    },
    sendTransaction: () => Promise.reject(new Error('wallets are not deployed here')),
    verifyTypedData: () => Promise.reject(new Error('signatures are checked by the scheme')),
  };
};
