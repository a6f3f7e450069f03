import { createJsonRpc } from '../core/json-rpc.ts';
import type { RefundOptions } from '../core/network-family.ts';
import type { RefundChain, RefundWallet } from './refund-transfer.ts';

export interface RefundPlace extends Omit<RefundOptions, 'rpc'> {
  rpcUrl: string;
  /** For one question to the node, in milliseconds. */
  rpcTimeoutMs: number;
}

export interface OpenedRefundChain {
  chain: RefundChain;
  /** Throws TypeError for a key that cannot be right, without showing it. */
  openWallet(key: string): Promise<RefundWallet>;
}

/** Opens the chain on which refunds are sent. Loads the packages of that chain, as most commands need none of them. */
export const openRefundChain = async ({
  rpcUrl,
  rpcTimeoutMs,
  ...place
}: RefundPlace): Promise<OpenedRefundChain> => {
  const { family } = place.network;
  const options = { ...place, rpc: createJsonRpc({ url: rpcUrl, timeoutMs: rpcTimeoutMs }) };
  return {
    chain: await family.openRefundChain(options),
    openWallet: async (key) => {
      const problem = family.secretKeyProblem(key);
      if (problem !== null) throw new TypeError(`it ${problem}`);
      return family.openRefundWallet(options, key);
    },
  };
};
