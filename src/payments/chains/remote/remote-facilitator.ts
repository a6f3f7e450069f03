import type { Log } from '../../../kit/log.ts';
import {
  createFeePayers,
  type PaymentOrder,
  type SettleOptions,
  type SettleOutcome,
  type SupportedKind,
  type VerifyOutcome,
} from '../core/facilitator.ts';
import { signalWithin } from '../core/local-engine.ts';
import type { FacilitatorEndpoint } from '../../x402-settings.ts';
import { createCdpSigner } from './cdp-jwt.ts';
import { createFacilitatorCondition, type Trouble } from './facilitator-condition.ts';
import {
  findTrouble,
  notUnderstood,
  readSettlement,
  readSupported,
  readVerification,
} from './remote-answers.ts';
import { createRemoteHttp } from './remote-http.ts';
import { confirmClaim, type ChainWitness } from './remote-outcome.ts';

export interface RemoteFacilitatorOptions extends FacilitatorEndpoint, ChainWitness {
  log: Log;
  /** A clock that never goes back, in milliseconds; it measures the rest of a facilitator that fails. */
  nowMs?: () => number;
  /** Called with its address when it begins to fail. */
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
    /** Tells whether it names that fee payer as its own, or did lately. */
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
