import { createCircuitBreaker, failuresInARow } from '../../kit/circuit-breaker.ts';
import type { Log } from '../../kit/log.ts';

/** What is wrong with a facilitator. */
export interface Trouble {
  /** `silent`: no answer. `refused`: it does not accept us, which only we can mend. `broken`: a useless answer. */
  kind: 'silent' | 'refused' | 'broken';
  /** For the operator, to be read after the facilitator's address. */
  text: string;
  /** A short code, for the log. */
  why: string;
}

/** How one facilitator fares, as its answers show. */
export interface FacilitatorCondition {
  /** Whether it is to be asked ahead of others that rest; a rest ends with one call that may try. */
  allows(): boolean;
  /** What is wrong with it; null for nothing. */
  trouble(): string | null;
  /** Notes how a verification or settlement was answered. */
  noteWork(found: Trouble | null): void;
  /** Notes how the question for what it supports was answered. */
  noteRefresh(found: Trouble | null): void;
}

/** Two, as one may be a connection that the other side closed for idleness. */
const maxFailures = 2;
const restMs = 30_000;

type Source = 'work' | 'refresh';

/** Each change is logged once, and `onTrouble` told when trouble begins. */
export const createFacilitatorCondition = (options: {
  url: string;
  log: Log;
  /** A clock that never goes back, milliseconds. */
  nowMs: () => number;
  onTrouble: () => void;
}): FacilitatorCondition => {
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
    if (before === null) onTrouble();
  };

  const works = (): void => {
    breaker.succeeded();
    if (current === null) return;
    current = null;
    log.info({ facilitator: url }, 'a payment facilitator works again');
  };

  /** That it tells what it supports says little of its work, which is tried again in a while; nothing if it is refused. */
  const answersRefresh = (): void => {
    if (current === null) return;
    if (current.source === 'refresh') works();
    else if (current.kind !== 'refused' && nowMs() - current.notedAtMs >= restMs) current = null;
  };

  return {
    allows: () => breaker.enter() !== null,
    trouble: () => current?.text ?? null,
    noteWork: (found) => (found === null ? works() : fails(found, 'work')),
    noteRefresh: (found) => (found === null ? answersRefresh() : fails(found, 'refresh')),
  };
};
