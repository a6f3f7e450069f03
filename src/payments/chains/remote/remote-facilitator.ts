import type { Log } from '../../../kit/log.ts';
import {
  createFeePayers,
  signalWithin,
  type PaymentOrder,
  type SettleOptions,
  type SettleOutcome,
  type SupportedKind,
  type VerifyOutcome,
} from '../core/facilitator.ts';
import type { FacilitatorEndpoint } from '../../x402-settings.ts';
import { createCdpSigner } from './cdp-jwt.ts';
import {
  findTrouble,
  notUnderstood,
  readSettlement,
  readSupported,
  readVerification,
  createRemoteHttp,
  type Trouble,
} from './remote-answers.ts';
import { confirmClaim, type ChainWitness } from './remote-outcome.ts';
import { createCircuitBreaker, failuresInARow } from '../../../kit/circuit-breaker.ts';

/** Two, because one may be an idle connection that the other side closed. */
const maxFailures = 2;
const restMs = 30_000;

type Source = 'work' | 'refresh';

/** Logs each change of a facilitator's condition once, and calls `onTrouble` at the first fault. */
const createFacilitatorCondition = (options: {
  url: string;
  log: Log;
  /** A clock that never goes back, milliseconds. */
  nowMs: () => number;
  onTrouble: (url: string) => void;
}) => {
  const { url, log, nowMs, onTrouble } = options;
  const breaker = createCircuitBreaker({
    opensAfter: failuresInARow(maxFailures),
    openMs: restMs,
    probeMs: restMs,
    nowMs,
  });
  let current: (Trouble & { source: Source; notedAtMs: number }) | null = null;

  const fails = (found: Trouble, source: Source): void => {
    const before = current;
    current = { ...found, source, notedAtMs: nowMs() };
    breaker.failed();
    if (found.text === before?.text) return;
    log.warn({ facilitator: url, why: found.why }, `a payment facilitator ${found.text}`);
    if (before === null) onTrouble(url);
  };

  const works = (): void => {
    breaker.succeeded();
    if (current === null) return;
    current = null;
    log.info({ facilitator: url }, 'a payment facilitator works again');
  };

  /** It proves little about its work, which is tried again after a rest, and nothing when our credentials are refused. */
  const answersRefresh = (): void => {
    if (current === null) return;
    if (current.source === 'refresh') works();
    else if (current.kind !== 'refused' && nowMs() - current.notedAtMs >= restMs) current = null;
  };

  return {
    /** Whether it works, or rests no longer. One call may try at the end of a rest. */
    allows: (): boolean => breaker.enter() !== null,
    trouble: (): string | null => current?.text ?? null,
    noteWork: (found: Trouble | null): void => (found === null ? works() : fails(found, 'work')),
    noteRefresh: (found: Trouble | null): void =>
      found === null ? answersRefresh() : fails(found, 'refresh'),
  };
};

export interface RemoteFacilitatorOptions extends FacilitatorEndpoint, ChainWitness {
  log: Log;
  /** A clock that never goes back, in milliseconds; it measures the rest of a facilitator that fails. */
  nowMs?: () => number;
  onTrouble: (url: string) => void;
}

/** Tells whether the caller went away, which proves nothing about the facilitator. A time-out does. */
const isGivenUp = (signal: AbortSignal): boolean =>
  signal.aborted && !(signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError');

const toRequest = ({ payload, requirements }: PaymentOrder) => ({
  x402Version: 2,
  paymentPayload: payload,
  paymentRequirements: requirements,
});

const broken = (text: string, why: string): Trouble => ({ kind: 'broken', text, why });

export type RemoteFacilitator = ReturnType<typeof createRemoteFacilitator>;

/**
 * Speaks with one facilitator elsewhere over HTTP, in x402 v2. No method rejects for its faults; `settle` rejects as in
 * `Facilitator`. Throws ConfigError for a key that cannot be used.
 */
export const createRemoteFacilitator = (options: RemoteFacilitatorOptions) => {
  const { network, url, cdpKey, timeouts, log, now, onTrouble } = options;
  const ask = createRemoteHttp({ url, sign: cdpKey === null ? null : createCdpSigner(cdpKey, now) });
  const nowMs = options.nowMs ?? (() => performance.now());
  const condition = createFacilitatorCondition({ url, log, nowMs, onTrouble });
  const feePayers = createFeePayers();
  let supported: SupportedKind | 'unsupported' | null = null;

  return {
    url,
    /** Null: not known yet. The last answer counts while it cannot be asked. Changes only in `refresh`. */
    supports: () => supported,
    hasNamed: feePayers.has,
    allows: condition.allows,
    trouble: condition.trouble,
    /** Asks what it supports. Returns the obstacle to settling, for the operator; null for none. */
    refresh: async (outer: AbortSignal): Promise<string | null> => {
      const signal = signalWithin(timeouts.queryMs, outer);
      const answer = await ask('/supported', { signal });
      const kind = readSupported(answer, network);
      const strange = kind === null ? broken('answers with something else than x402', 'supported') : null;
      const trouble = findTrouble(answer) ?? strange;
      if (!isGivenUp(signal)) condition.noteRefresh(trouble);
      if (kind === null) return trouble?.text ?? null;
      supported = kind;
      feePayers.note(kind);
      return kind === 'unsupported' ? `does not settle on ${network.label}` : null;
    },
    verify: async (order: PaymentOrder, signal: AbortSignal): Promise<VerifyOutcome> => {
      const answer = await ask('/verify', { body: toRequest(order), signal });
      const verified = readVerification(answer);
      const own = verified.outcome === 'unavailable' ? broken('cannot verify', verified.reason) : null;
      if (!isGivenUp(signal)) condition.noteWork(findTrouble(answer) ?? own);
      return verified;
    },
    settle: async (
      order: PaymentOrder,
      { earlier, beforeBroadcast }: SettleOptions,
    ): Promise<SettleOutcome> => {
      const transaction = earlier?.transaction ?? null;
      await beforeBroadcast({ transaction, rawTransaction: null, facilitator: url });
      const signal = AbortSignal.timeout(timeouts.settleMs);
      const answer = await ask('/settle', { body: toRequest(order), signal });
      const claimed = readSettlement(answer, { network, isRepeated: earlier !== null });
      const isStrange = claimed.outcome === 'unknown' && claimed.reason === notUnderstood;
      condition.noteWork(findTrouble(answer) ?? (isStrange ? broken('cannot settle', 'body') : null));
      return confirmClaim(options, order, claimed);
    },
  };
};
