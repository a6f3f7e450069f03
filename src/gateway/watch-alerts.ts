import { hostname } from 'node:os';
import type { Config } from '../config/config.ts';
import { callWithin } from '../kit/deadline.ts';
import { readDisk } from '../kit/disk.ts';
import { pause, repeat } from '../kit/repeat.ts';
import { dataFolders } from '../media/create-media-files.ts';
import type { Services } from '../operations/call.ts';
import type { Buyer } from '../payments/buying/create-buyer.ts';
import { listPayments, stuckAfterMs } from '../payments/records/find-payments.ts';
import type { Providers } from '../providers/create-providers.ts';

export interface AlertSources extends Pick<Services, 'store' | 'clock' | 'x402'> {
  config: Pick<Config, 'dataDir' | 'mediaDir' | 's3'>;
  providers: Pick<Providers, 'health'>;
  buyer: Pick<Buyer, 'problems'> | null;
}

/** Something that the operator is told of, for as long as it holds (docs/operators-telemetry.md, "Alerts"). */
interface Condition {
  alert:
    | 'provider_down'
    | 'payment_stuck'
    | 'payments_failing'
    | 'balance_low'
    | 'upstream_unpaid'
    | 'disk_low';
  subject: string;
  message: string;
}

const lookEveryMs = 60_000;
const lookMs = 30_000;
/**
 * What nobody has seen for this long has ended. As long as providers' calls are remembered, so that a new process, which
 * knows of none, ends nothing too early.
 */
const quietMs = 300_000;

const failingProviders = ({ providers }: AlertSources): Condition[] =>
  providers
    .health()
    // A customer can make calls of the sandbox fail.
    .filter(({ isSandbox }) => !isSandbox)
    .flatMap(({ name, models }) =>
      models
        .filter(({ isFailing }) => isFailing)
        .map(({ model, skus, lastFailure }) => ({
          alert: 'provider_down',
          subject: `${name}/${model}`,
          message: `Calls of ${model} at ${name} fail (${lastFailure?.code ?? 'unknown'}). It serves ${skus.join(', ')}.`,
        })),
    );

const stuckPayments = async ({ store, clock }: AlertSources): Promise<Condition[]> => {
  const now = clock.now();
  const { payments } = await listPayments(store, { limit: 1 }, now);
  const refunds = await store.listRefunds({ payment: null, limit: 1_000 });
  // Nobody but the operator goes on with a refund that is not signed.
  const unsigned = refunds.filter(
    ({ state, createdAt }) => state === 'planned' && createdAt < now - stuckAfterMs,
  );
  const [stuck] = [
    ...payments.map(({ identity }) => `A payment should have ended long ago: ${identity}`),
    ...unsigned.map(({ id }) => `A refund was planned long ago, and is not signed: ${id}`),
  ];
  if (stuck === undefined) return [];
  const message = `${stuck}. See "causeway payments list --stuck".`;
  return [{ alert: 'payment_stuck', subject: 'payments', message }];
};

const failingNetworks = ({ x402 }: AlertSources): Condition[] =>
  x402.status().flatMap(({ network, label, detail, settlementsLeft }) =>
    detail === null
      ? []
      : {
          alert: settlementsLeft === undefined ? 'payments_failing' : 'balance_low',
          subject: network,
          message: `${label}: ${detail}.`,
        },
  );

const unpaidUpstreams = ({ buyer, clock }: AlertSources): Condition[] =>
  [...(buyer?.problems() ?? [])]
    .filter(([, { at }]) => clock.now() - at < quietMs)
    .map(([subject, { problem }]) => ({ alert: 'upstream_unpaid', subject, message: problem }));

const fullDisks = async ({ config }: AlertSources): Promise<Condition[]> => {
  const found = dataFolders(config).map(async ({ path, setting }): Promise<Condition[]> => {
    // A folder that cannot be read is a fault of another kind, which the log and /health/ready tell.
    const disk = await readDisk(path).catch(() => null);
    if (disk?.isLow !== true) return [];
    const room = `${Math.floor(disk.free / 1024 ** 2)} MiB`;
    return [
      {
        alert: 'disk_low',
        subject: setting,
        message: `The disk of ${path} on ${hostname()} has ${room} left.`,
      },
    ];
  });
  return (await Promise.all(found)).flat();
};

/** Returns a function that looks once what holds, and adds an event for what has begun or ended in the whole fleet. */
export const createAlertLook = (sources: AlertSources, url: string): (() => Promise<void>) => {
  const { store, clock } = sources;
  const startedAt = clock.now();
  // The receiver's full address may have a secret, and is not stored.
  const { origin } = new URL(url);
  return async () => {
    const now = clock.now();
    const held = [
      ...failingProviders(sources),
      ...failingNetworks(sources),
      ...unpaidUpstreams(sources),
      ...(await stuckPayments(sources)),
      ...(await fullDisks(sources)),
    ];
    for (const condition of held) await store.holdAlert({ ...condition, url: origin, now });
    if (now - startedAt >= quietMs) await store.endAlerts({ seenBefore: now - quietMs, url: origin, now });
  };
};

/** Looks every minute, until the signal aborts, if alerts have a receiver. */
export const watchAlerts = async (
  sources: AlertSources & Pick<Services, 'log'> & { config: Config },
  signal: AbortSignal,
): Promise<void> => {
  const { config, log } = sources;
  if (config.alerts === null) return;
  const look = createAlertLook(sources, config.alerts.url);
  // At the start nobody has been asked yet.
  await pause(lookEveryMs, signal);
  await repeat({
    what: 'looking for what operators are told of',
    intervalMs: lookEveryMs,
    signal,
    log,
    work: () => callWithin({ call: look, timeoutMs: lookMs, signal }),
  });
};
