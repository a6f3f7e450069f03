import { createCircuitBreaker, failuresInARow } from '../../../kit/circuit-breaker.ts';
import type { Log } from '../../../kit/log.ts';

/** A fault of a facilitator. */
export interface Trouble {
  /** `silent`: no answer. `refused`: it does not accept our credentials. `broken`: a useless answer. */
  kind: 'silent' | 'refused' | 'broken';
  /** For the operator; it follows the facilitator's address. */
  text: string;
  /** A short code, for the log. */
  why: string;
}

/** Two, because one may be an idle connection that the other side closed. */
const maxFailures = 2;
const restMs = 30_000;

type Source = 'work' | 'refresh';

/**
 * Follows the condition of one facilitator by its answers. Logs each change once, and calls `onTrouble` at the first
 * fault.
 */
export const createFacilitatorCondition = (options: {
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

  /**
   * An answer about its support proves little about its work, which is tried again after a rest. It proves nothing when
   * our credentials are refused.
   */
  const answersRefresh = (): void => {
    if (current === null) return;
    if (current.source === 'refresh') works();
    else if (current.kind !== 'refused' && nowMs() - current.notedAtMs >= restMs) current = null;
  };

  return {
    /** Tells whether to ask it before facilitators that rest. One call may try at the end of a rest. */
    allows: (): boolean => breaker.enter() !== null,
    /** Returns its fault, for the operator; null for none. */
    trouble: (): string | null => current?.text ?? null,
    /** Notes the fault in the answer to a verification or settlement. */
    noteWork: (found: Trouble | null): void => (found === null ? works() : fails(found, 'work')),
    /** Notes the fault in the answer to the question for what it supports. */
    noteRefresh: (found: Trouble | null): void =>
      found === null ? answersRefresh() : fails(found, 'refresh'),
  };
};
