import type { FacilitatorEndpoint } from '../x402-settings.ts';
import type { Log } from '../../kit/log.ts';
import type { PaymentNetwork } from '../core/network-family.ts';
import { createCdpSigner } from './cdp-jwt.ts';
import {
  createFeePayers,
  type FacilitatorTimeouts,
  type PaymentOrder,
  type SettleOptions,
  type SettleOutcome,
  type SupportedKind,
  type VerifyOutcome,
} from '../core/facilitator.ts';
import { createFacilitatorCondition, type Trouble } from './facilitator-condition.ts';
import { findTrouble, readSettlement, readSupported, readVerification } from './remote-answers.ts';
import { createRemoteHttp, type RemoteAnswer } from './remote-http.ts';
import type { RemoteOutcome } from './remote-outcome.ts';

/** One facilitator elsewhere. No method rejects for its faults; `settle` rejects as in `Facilitator`. */
export interface RemoteFacilitator {
  readonly url: string;
  /** Null: not known yet. The last answer counts while it cannot be asked. Changes only in `refresh`. */
  supports(): SupportedKind | 'unsupported' | null;
  /** Tells whether it names that fee payer as its own, or did lately. */
  hasNamed(feePayer: string): boolean;
  /** Asks what it supports. Returns the obstacle to settling, for the operator; null for none. */
  refresh(signal: AbortSignal): Promise<string | null>;
  /** Tells whether to ask it before facilitators that rest. One call may try at the end of a rest. */
  allows(): boolean;
  /** Returns its fault, for the operator; null for none. */
  trouble(): string | null;
  verify(order: PaymentOrder, signal: AbortSignal): Promise<VerifyOutcome>;
  settle(order: PaymentOrder, options: SettleOptions): Promise<SettleOutcome>;
}

export interface RemoteFacilitatorOptions extends FacilitatorEndpoint {
  network: PaymentNetwork;
  outcome: RemoteOutcome;
  timeouts: FacilitatorTimeouts;
  log: Log;
  /** Epoch milliseconds. */
  now: () => number;
  /** A clock that never goes back, in milliseconds; it measures the rest of a facilitator that fails. */
  nowMs?: () => number;
  /** Called when it begins to fail. */
  onTrouble: () => void;
}

/** Tells whether the caller went away, which proves nothing about the facilitator. A time-out does. */
const isGivenUp = (signal: AbortSignal): boolean =>
  signal.aborted && !(signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError');

const toRequest = ({ payload, requirements }: PaymentOrder) => ({
  x402Version: 2,
  paymentPayload: payload,
  paymentRequirements: requirements,
});

const cannot = (what: string, why: string): Trouble => ({ kind: 'broken', text: `cannot ${what}`, why });
const notUnderstood = 'facilitator_unavailable';

/** Speaks with a facilitator over HTTP, in x402 v2. Throws ConfigError for a key that cannot be used. */
export const createRemoteFacilitator = (options: RemoteFacilitatorOptions): RemoteFacilitator => {
  const { network, url, cdpKey, outcome, timeouts, log, now, onTrouble } = options;
  const sign = cdpKey === null ? null : createCdpSigner(cdpKey, now);
  const http = createRemoteHttp({ url, sign });
  const nowMs = options.nowMs ?? (() => performance.now());
  const condition = createFacilitatorCondition({ url, log, nowMs, onTrouble });
  const feePayers = createFeePayers();
  let supported: SupportedKind | 'unsupported' | null = null;

  const post = (path: string, order: PaymentOrder, signal: AbortSignal): Promise<RemoteAnswer> =>
    http.post(path, toRequest(order), signal);

  return {
    url,
    supports: () => supported,
    hasNamed: (feePayer) => feePayers.has(feePayer),
    allows: () => condition.allows(),
    trouble: () => condition.trouble(),
    refresh: async (outer) => {
      const signal = AbortSignal.any([outer, AbortSignal.timeout(timeouts.queryMs)]);
      const answer = await http.get('/supported', signal);
      const kind = readSupported(answer, network);
      const trouble =
        findTrouble(answer) ??
        (kind === null
          ? { kind: 'broken' as const, text: 'answers with something else than x402', why: 'supported' }
          : null);
      if (!isGivenUp(signal)) condition.noteRefresh(trouble);
      if (kind === null) return trouble?.text ?? null;
      supported = kind;
      feePayers.note(kind);
      return kind === 'unsupported' ? `does not settle on ${network.label}` : null;
    },
    verify: async (order, signal) => {
      const answer = await post('/verify', order, signal);
      const verified = readVerification(answer);
      const own = verified.outcome === 'unavailable' ? cannot('verify', verified.reason) : null;
      if (!isGivenUp(signal)) condition.noteWork(findTrouble(answer) ?? own);
      return verified;
    },
    settle: async (order, { earlier, beforeBroadcast }) => {
      await beforeBroadcast({
        transaction: earlier?.transaction ?? null,
        rawTransaction: null,
        facilitator: url,
      });
      const answer = await post('/settle', order, AbortSignal.timeout(timeouts.settleMs));
      const claimed = readSettlement(answer, { network, isRepeated: earlier !== null });
      const own =
        claimed.outcome === 'unknown' && claimed.reason === notUnderstood ? cannot('settle', 'body') : null;
      condition.noteWork(findTrouble(answer) ?? own);
      return outcome.confirm(order, claimed);
    },
  };
};
