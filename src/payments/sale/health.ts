import type { Log } from '../../kit/log.ts';
import type { PaymentMethod } from '../wire/challenge.ts';
import { createFeePayers, type FacilitatorHealth } from '../chains/core/facilitator.ts';
import { pause } from '../../kit/repeat.ts';

export interface NetworkStatus extends FacilitatorHealth {
  network: string;
  label: string;
  isTest: boolean;
  facilitator: string;
}

const askAgainMs = 30_000;
const refreshMs = 300_000;

const logHealth = (
  log: Log,
  { network, facilitator }: PaymentMethod,
  { ready, detail }: FacilitatorHealth,
): void => {
  const fields = {
    network: network.id,
    facilitator: facilitator.name,
    ...(detail === null ? {} : { detail }),
  };
  if (ready) log.info(fields, `payments on ${network.label} are ready`);
  else log.warn(fields, `payments on ${network.label} are not ready`);
};

export const createPaymentHealth = (context: {
  methods: readonly PaymentMethod[];
  log: Log;
  /** Called after each round: the terms may have changed. */
  onChange: () => void;
  inBackground: (work: Promise<void>) => void;
  signal: AbortSignal;
}) => {
  const { methods, log, onChange, inBackground, signal } = context;
  const health = new Map<string, FacilitatorHealth>();
  const recentFeePayers = createFeePayers();
  let isRunning = false;
  let waiting = new AbortController();

  const ask = async (method: PaymentMethod): Promise<void> => {
    const { network, facilitator } = method;
    const before = health.get(network.id);
    const now = await facilitator.refresh(signal).catch((error: unknown): FacilitatorHealth => {
      log.error({ err: error, network: network.id }, 'a payment network could not be set up');
      return { ready: false, detail: 'could not be set up' };
    });
    health.set(network.id, now);
    recentFeePayers.note(facilitator.supports());
    if (now.ready !== before?.ready || now.detail !== before.detail) logHealth(log, method, now);
  };

  const askAll = async (): Promise<boolean> => {
    await Promise.all(methods.map(ask));
    onChange();
    // A ready network with a detail has a part that fails.
    return methods.every(({ network }) => {
      const known = health.get(network.id);
      return known?.ready === true && known.detail === null;
    });
  };

  const keepAsking = async (wasReady: boolean): Promise<void> => {
    let isReady = wasReady;
    for (;;) {
      waiting = new AbortController();
      await pause(isReady ? refreshMs : askAgainMs, AbortSignal.any([signal, waiting.signal]));
      if (signal.aborted) return;
      isReady = await askAll();
    }
  };

  for (const { facilitator } of methods) recentFeePayers.note(facilitator.supports());
  return {
    recentFeePayers,
    status: (): NetworkStatus[] =>
      methods.map(({ network, facilitator }) => ({
        network: network.id,
        label: network.label,
        isTest: network.isTest,
        facilitator: facilitator.name,
        ...(health.get(network.id) ?? { ready: false, detail: 'not asked yet' }),
      })),
    /** Asks every facilitator once, and then in the background until `signal` aborts. */
    start: async (): Promise<void> => {
      const isReady = await askAll();
      if (!isRunning) inBackground(keepAsking(isReady));
      isRunning = true;
    },
    /** Asks again now, because a facilitator began to fail. */
    askSoon: (): void => waiting.abort(),
  };
};
