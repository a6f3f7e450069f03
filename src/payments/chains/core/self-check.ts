import type { Facilitator } from './facilitator.ts';
import { isNodeTrouble, type JsonRpc } from './json-rpc.ts';
import type { PaymentNetwork } from './network-family.ts';

/**
 * Takes a facilitator out of the offer as long as the chain contradicts the configuration: nobody shall sign what
 * cannot be settled. The chain is asked until it agrees once; a node that does not answer changes nothing.
 */
export const withSelfCheck = (
  facilitator: Facilitator,
  {
    network,
    payTo,
    rpc,
    timeoutMs,
  }: { network: PaymentNetwork; payTo: string; rpc: JsonRpc; timeoutMs: number },
): Facilitator => {
  let hasAgreed = false;
  let faults: string[] = [];
  const ask = async (outer: AbortSignal): Promise<void> => {
    const signal = AbortSignal.any([outer, AbortSignal.timeout(timeoutMs)]);
    try {
      faults = await network.family.findFaults({ network, payTo }, { rpc, signal });
      hasAgreed = faults.length === 0;
    } catch (error) {
      // The calls that need this node report themselves that it does not answer.
      if (!isNodeTrouble(error)) throw error;
    }
  };
  return {
    ...facilitator,
    supports: () => (faults.length > 0 ? 'unsupported' : facilitator.supports()),
    refresh: async (signal) => {
      const [health] = await Promise.all([facilitator.refresh(signal), hasAgreed ? null : ask(signal)]);
      return faults.length > 0 ? { ready: false, detail: faults.join('; ') } : health;
    },
  };
};
