import type { X402Gate } from '../../purchases/x402/x402-gate.ts';
import type { Payment, PaymentPosition, PaymentState, Store } from '../../store/store.ts';
import type { Networks } from './looking-gate.ts';

export const withoutEnd: readonly PaymentState[] = [
  'reserved',
  'verified',
  'produced',
  'broadcasting',
  'unknown',
];

export interface OpenLooks {
  /** How many were looked at. */
  examined: number;
  /** Those of them that have no end yet, as they are by now. */
  open: Payment[];
  /** How many were left alone, as a process works on them. */
  inProgress: number;
  /** How many were left alone on networks that are not configured. */
  notConfigured: Map<string, number>;
}

const pageSize = 200;
/** Each look waits for a chain. */
const concurrency = 8;

/**
 * Looks at payments without an end, newest first, at most `limit` of them. Throws what a look throws, once the others
 * were looked at too.
 */
export const lookAtOpenPayments = async ({
  store,
  gate,
  networks,
  limit,
}: {
  store: Pick<Store, 'listPayments'>;
  gate: Pick<X402Gate, 'reconcileOne'>;
  networks: Networks;
  limit: number;
}): Promise<OpenLooks> => {
  const looks: OpenLooks = { examined: 0, open: [], inProgress: 0, notConfigured: new Map() };
  const lookAt = async ({ identity }: Payment): Promise<void> => {
    const payment = await gate.reconcileOne({ identity, transaction: null });
    if (payment === null) {
      looks.inProgress += 1;
      return;
    }
    looks.examined += 1;
    if (withoutEnd.includes(payment.state)) looks.open.push(payment);
  };
  const isConfigured = ({ network }: Payment): boolean => {
    if (networks.some((configured) => configured.network === network)) return true;
    looks.notConfigured.set(network, (looks.notConfigured.get(network) ?? 0) + 1);
    return false;
  };

  let before: PaymentPosition | undefined;
  let left = limit;
  const faults: unknown[] = [];
  for (;;) {
    const page = await store.listPayments({ states: withoutEnd, before, limit: pageSize });
    const queue = page.filter(isConfigured).slice(0, left);
    left -= queue.length;
    const work = async (): Promise<void> => {
      for (let payment = queue.shift(); payment !== undefined; payment = queue.shift())
        try {
          await lookAt(payment);
        } catch (error) {
          faults.push(error);
        }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize || left === 0) break;
    before = { createdAt: last.createdAt, identity: last.identity };
  }
  if (faults.length > 0) throw faults[0];
  return looks;
};
