import type { Clock } from '../../kit/clock.ts';
import { newId } from '../../kit/ids.ts';
import { silentLog } from '../../kit/log.ts';
import { configuredNetwork } from '../chains/networks.ts';
import type { X402NetworkConfig } from '../x402-settings.ts';
import type { Payment, Store } from '../../store/store.ts';
import { readPayments } from '../records/find-payments.ts';
import { createX402Gate, type X402Gate } from './gate.ts';
import { openStates } from '../../rules/payments.ts';

const concurrency = 8;

export const isOpenPayment = ({ state }: Pick<Payment, 'state'>): boolean => openStates.includes(state);

/**
 * Opens a gate that checks payments and takes none. New payments need a recipient, so the address of the token stands for
 * a wallet that is not configured, and no wallet is created.
 */
export const openCheckingGate = (context: {
  store: Store;
  clock: Clock;
  networks: readonly X402NetworkConfig[];
}): X402Gate =>
  createX402Gate({
    ...context,
    networks: context.networks.map((network) => ({
      ...network,
      payTo: network.payTo ?? configuredNetwork(network.network, network.asset).asset.address,
    })),
    // Only terms of new payments name it.
    publicUrl: () => 'http://127.0.0.1',
    log: silentLog,
    owner: `operator/${newId()}`,
    sales: [],
  });

export interface CheckedPayments {
  examined: number;
  /** Examined payments that are still open. */
  open: Payment[];
  /** The number of payments left alone, as a process works on them. */
  inProgress: number;
  /** The number of payments left alone, by networks that are not configured. */
  notConfigured: Map<string, number>;
}

/** Checks at most `limit` open payments, newest first. Throws the error of a check after the other checks. */
export const reconcilePayments = async (options: {
  store: Store;
  gate: Pick<X402Gate, 'reconcileOne'>;
  networks: readonly Pick<X402NetworkConfig, 'network'>[];
  limit: number;
  /** Ends before the next check. */
  signal: AbortSignal;
}): Promise<CheckedPayments> => {
  const { store, gate, networks, limit, signal } = options;
  const checked: CheckedPayments = { examined: 0, open: [], inProgress: 0, notConfigured: new Map() };
  const { notConfigured } = checked;
  const configured = new Set(networks.map(({ network }) => network));
  const queue: string[] = [];
  for await (const { identity, network } of readPayments(store, { states: openStates })) {
    if (!configured.has(network)) notConfigured.set(network, (notConfigured.get(network) ?? 0) + 1);
    else if (queue.length < limit) queue.push(identity);
    else break;
  }
  const check = async (identity: string): Promise<void> => {
    const payment = await gate.reconcileOne({ identity, transaction: null });
    if (payment === null) checked.inProgress += 1;
    else checked.examined += 1;
    if (payment !== null && isOpenPayment(payment)) checked.open.push(payment);
  };
  const errors: unknown[] = [];
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined && !signal.aborted; next = queue.shift())
      await check(next).catch((error: unknown) => errors.push(error));
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  if (errors.length > 0) throw errors[0];
  return checked;
};
