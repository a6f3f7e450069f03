import type { FacilitatorEndpoint } from '../../config/config.ts';
import type { Log } from '../../kit/log.ts';
import type { PaymentNetwork } from '../core/networks.ts';
import { createCdpSigner } from './cdp-jwt.ts';
import type {
  FacilitatorTimeouts,
  PaymentOrder,
  SettleOptions,
  SettleOutcome,
  SupportedKind,
  VerifyOutcome,
} from '../core/facilitator.ts';
import { createFacilitatorCondition, type Trouble } from '../core/facilitator-condition.ts';
import { findTrouble, readSettlement, readSupported, readVerification } from './remote-answers.ts';
import { createRemoteHttp, type RemoteAnswer } from './remote-http.ts';
import type { RemoteOutcome } from './remote-outcome.ts';

/** One facilitator of somebody else. No method rejects for what it may do; only `settle` does, as in `Facilitator`. */
export interface RemoteFacilitator {
  readonly url: string;
  /** Null: not known yet; a facilitator that cannot be asked is taken at its last word. Changes only in `refresh`. */
  supports(): SupportedKind | 'unsupported' | null;
  /** Whether it names that Solana fee payer as its own, or did lately. */
  hasNamed(feePayer: string): boolean;
  /** Asks what it supports. Answers what keeps it from settling, for the operator; null for nothing. */
  refresh(signal: AbortSignal): Promise<string | null>;
  /** Whether it is to be asked ahead of others that rest; a rest ends with one call that may try. */
  allows(): boolean;
  /** What went wrong lately, for the operator; null for nothing. */
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
  /** A clock that never goes back, milliseconds; for how long a facilitator that fails is left alone. */
  nowMs?: () => number;
  /** Told when it begins to fail. */
  onTrouble: () => void;
}

const maxFeePayers = 32;

/** Whether the caller went away, which says nothing of the facilitator; running out of time does. */
const isGivenUp = (signal: AbortSignal): boolean =>
  signal.aborted && !(signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError');

const toRequest = ({ payload, requirements }: PaymentOrder) => ({
  x402Version: 2,
  paymentPayload: payload,
  paymentRequirements: requirements,
});

const cannot = (what: string, why: string): Trouble => ({ kind: 'broken', text: `cannot ${what}`, why });
const notUnderstood = 'facilitator_unavailable';

/** Over HTTP (x402 v2: `/supported`, `/verify`, `/settle`). Throws ConfigError for a key that cannot be used. */
export const createRemoteFacilitator = (options: RemoteFacilitatorOptions): RemoteFacilitator => {
  const { network, url, cdpKey, outcome, timeouts, log, now, onTrouble } = options;
  const sign = cdpKey === null ? null : createCdpSigner(cdpKey, now);
  const http = createRemoteHttp({ url, sign });
  const nowMs = options.nowMs ?? (() => performance.now());
  const condition = createFacilitatorCondition({ url, log, nowMs, onTrouble });
  const feePayers = new Set<string>();
  let supported: SupportedKind | 'unsupported' | null = null;

  const noteFeePayer = (kind: SupportedKind | 'unsupported'): void => {
    const feePayer = kind === 'unsupported' ? null : kind.extra['feePayer'];
    if (typeof feePayer !== 'string') return;
    feePayers.delete(feePayer);
    feePayers.add(feePayer);
    const [oldest] = feePayers;
    if (feePayers.size > maxFeePayers && oldest !== undefined) feePayers.delete(oldest);
  };

  const post = (path: string, order: PaymentOrder, signal: AbortSignal): Promise<RemoteAnswer> =>
    http.post(path, toRequest(order), signal);

  /** The facilitator's word is not taken for a transfer that the proof itself shows not to be the one that is sold. */
  const judge = async (verified: VerifyOutcome, order: PaymentOrder): Promise<VerifyOutcome> => {
    const { payload } = order.payload;
    if (verified.outcome !== 'valid' || !('transaction' in payload)) return verified;
    const { findSolanaTransfer } = await import('../solana/find-solana-transfer.ts');
    return (await findSolanaTransfer(payload.transaction, order.requirements)) !== null
      ? verified
      : {
          outcome: 'invalid',
          reason: 'invalid_exact_svm_payload_no_transfer_instruction',
          payer: verified.payer,
        };
  };

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
      noteFeePayer(kind);
      return kind === 'unsupported' ? `does not settle on ${network.label}` : null;
    },
    verify: async (order, signal) => {
      const answer = await post('/verify', order, signal);
      const verified = readVerification(answer);
      const own = verified.outcome === 'unavailable' ? cannot('verify', verified.reason) : null;
      if (!isGivenUp(signal)) condition.noteWork(findTrouble(answer) ?? own);
      return judge(verified, order);
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
