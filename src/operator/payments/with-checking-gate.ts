import type { Config } from '../../config/config.ts';
import { openCheckingGate } from '../../purchases/x402/reconcile-payments.ts';
import type { X402Gate } from '../../purchases/x402/x402-gate.ts';
import type { OperatorServices } from '../operator-operation.ts';

/** Runs `work` with a gate of its own that checks payments and takes none. */
export const withCheckingGate = async <T>(
  { store, clock, config }: Pick<OperatorServices, 'store' | 'clock' | 'config'>,
  work: (gate: X402Gate, networks: Config['x402']['networks']) => Promise<T>,
): Promise<T> => {
  const { networks } = (await config()).x402;
  const gate = openCheckingGate({ store, clock, networks });
  try {
    return await work(gate, networks);
  } finally {
    await gate.close();
  }
};
