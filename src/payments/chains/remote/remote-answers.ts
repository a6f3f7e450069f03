import { z } from 'zod';
import type { PaymentNetwork } from '../core/network-family.ts';
import {
  toReasonCode,
  type SettleOutcome,
  type SupportedKind,
  type VerifyOutcome,
} from '../core/facilitator.ts';
import { createHttpClient } from '../../../http/http-client.ts';
import { OutboundError } from '../../../http/outbound.ts';
import { readText, type HttpAnswer } from '../../../http/send-request.ts';
import type { SignCdpRequest } from './cdp-jwt.ts';

type RemoteAnswer =
  /** `body`: undefined when it is no JSON, too long, or was cut off. */
  | { kind: 'answered'; status: number; body: unknown }
  /** No connection came about, so that no byte of the request left this process. `why` is a short code, for the log. */
  | { kind: 'unreached'; why: string }
  /** The request may or may not have arrived. */
  | { kind: 'lost'; why: string };

const connectMs = 10_000;
const longestAnswer = 1024 ** 2;

const codeOf = (error: unknown): string => {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code;
  return cause instanceof Error ? cause.name : 'unknown';
};

const readBody = async (answer: HttpAnswer): Promise<unknown> => {
  try {
    return JSON.parse(await readText(answer, longestAnswer));
  } catch {
    // The status was heard all the same, and some say all that matters.
    return undefined;
  }
};

/**
 * Sends single requests to the facilitator at `url`, without retries. A request with a body is a POST. Redirects are
 * answers, not ways: proof and signature are meant for this facilitator only. `sign`: null leaves requests unsigned.
 */
export const createRemoteHttp = ({ url, sign }: { url: string; sign: SignCdpRequest | null }) => {
  const http = createHttpClient({ connectMs });
  return async (
    path: string,
    { signal, body }: { signal: AbortSignal; body?: unknown },
  ): Promise<RemoteAnswer> => {
    const method = body === undefined ? 'GET' : 'POST';
    const headers: Record<string, string> = { accept: 'application/json' };
    if (body !== undefined) headers['content-type'] = 'application/json';
    try {
      if (sign !== null) headers['authorization'] = `Bearer ${await sign({ method, url: `${url}${path}` })}`;
    } catch (error) {
      return { kind: 'unreached', why: `signing: ${codeOf(error)}` };
    }
    try {
      const answer = await http.send(`${url}${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal,
        // The signal has a limit of time.
        timeouts: {},
        limits: { totalBytes: longestAnswer },
      });
      return { kind: 'answered', status: answer.status, body: await readBody(answer) };
    } catch (error) {
      const isUnreached = error instanceof OutboundError && error.failure === 'unreachable';
      return { kind: isUnreached ? 'unreached' : 'lost', why: codeOf(error) };
    }
  };
};

export interface Trouble {
  /** `silent`: no answer. `refused`: it does not accept our credentials. `broken`: a useless answer. */
  kind: 'silent' | 'refused' | 'broken';
  /** For the operator; it follows the facilitator's address. */
  text: string;
  why: string;
}

const verifyAnswer = z.object({
  isValid: z.boolean(),
  invalidReason: z.string().nullish(),
  payer: z.string().nullish(),
});
const settleAnswer = z.object({
  success: z.boolean(),
  errorReason: z.string().nullish(),
  payer: z.string().nullish(),
  transaction: z.string().nullish(),
});
const supportedAnswer = z.object({
  kinds: z.array(
    z.looseObject({
      x402Version: z.number(),
      scheme: z.string(),
      network: z.string(),
      extra: z.record(z.string(), z.unknown()).nullish(),
    }),
  ),
});

/** Reasons about the facilitator's own trouble, not about the proof. */
const ownTrouble = /unexpected|unavailable|timeout|internal|rate_limit|^server_|_rpc_/;
/** Refusals of the proof by checks before anything is sent. */
const refusal = /^(?:invalid_|insufficient_funds|unsupported_|asset_not_deployed|permit2_)/;
/** Refusals that also occur when this very payment is, or may be, on the chain. */
const mayHaveMoved =
  /transaction_failed|nonce_already_used|invalid_nonce|transaction_state|simulation_failed|already|expired/;

const isFinalRefusal = (reason: string): boolean =>
  refusal.test(reason) && !mayHaveMoved.test(reason) && !ownTrouble.test(reason);

const credentialStatuses: ReadonlySet<number> = new Set([401, 403]);
const tooOften = 429;
const ok = 200;
/** Statuses with which facilitators refuse a proof. All others come from a proxy in front of them. */
const refusalStatuses: ReadonlySet<number> = new Set([ok, 400, 402, 412, 422]);

export const notUnderstood = 'facilitator_unavailable';
const unavailable = { outcome: 'unavailable', reason: notUnderstood } as const;

export const findTrouble = (answer: RemoteAnswer): Trouble | null => {
  if (answer.kind !== 'answered') return { kind: 'silent', text: 'does not answer', why: answer.why };
  const { status, body } = answer;
  const trouble = (kind: Trouble['kind'], text: string): Trouble => ({ kind, text, why: `${status}` });
  if (credentialStatuses.has(status))
    return trouble('refused', `does not accept our credentials (${status})`);
  if (status === tooOften) return trouble('broken', 'is asked too often (429)');
  if (!refusalStatuses.has(status)) return trouble('broken', `answers with status ${status}`);
  return typeof body === 'object' && body !== null
    ? null
    : trouble('broken', 'answers with something else than x402');
};

export const readVerification = (answer: RemoteAnswer): VerifyOutcome => {
  if (answer.kind !== 'answered' || !refusalStatuses.has(answer.status)) return unavailable;
  const parsed = verifyAnswer.safeParse(answer.body);
  if (!parsed.success) return unavailable;
  const { isValid, invalidReason } = parsed.data;
  if (isValid) return answer.status === ok ? { outcome: 'valid' } : unavailable;
  const reason = toReasonCode(invalidReason, 'refused_by_facilitator');
  return { outcome: ownTrouble.test(reason) ? 'unavailable' : 'invalid', reason };
};

/**
 * Reads the answer to a settlement. It is a claim: a lie and an honest mistake look the same. `isRepeated`: an earlier
 * attempt may have sent the payment; then no refusal proves that nothing moved.
 */
export const readSettlement = (
  answer: RemoteAnswer,
  { network, isRepeated }: { network: PaymentNetwork; isRepeated: boolean },
): SettleOutcome => {
  const unknown = (reason: string, transaction: string | null = null): SettleOutcome => ({
    outcome: 'unknown',
    reason,
    transaction,
  });
  if (answer.kind === 'unreached') return unavailable;
  if (answer.kind === 'lost') return unknown(notUnderstood);
  if (credentialStatuses.has(answer.status) || answer.status === tooOften) return unavailable;
  const parsed = settleAnswer.safeParse(answer.body);
  if (!parsed.success) return unknown(notUnderstood);
  const { success, errorReason, transaction: named } = parsed.data;
  const transaction =
    typeof named === 'string' && network.family.transactionPattern.test(named) ? named : null;
  if (success) {
    if (answer.status !== ok) return unknown(notUnderstood, transaction);
    return transaction === null ? unknown('transaction_missing') : { outcome: 'settled', transaction };
  }
  const reason = toReasonCode(errorReason, 'settlement_error');
  const isRefused =
    !isRepeated &&
    refusalStatuses.has(answer.status) &&
    isFinalRefusal(reason) &&
    // A transaction that the answer names, in whatever form, may be under way.
    (named ?? '') === '';
  return isRefused ? { outcome: 'failed', reason, transaction } : unknown(reason, transaction);
};

export const readSupported = (
  answer: RemoteAnswer,
  network: PaymentNetwork,
): SupportedKind | 'unsupported' | null => {
  if (answer.kind !== 'answered' || answer.status !== ok) return null;
  const parsed = supportedAnswer.safeParse(answer.body);
  if (!parsed.success) return null;
  const kind = parsed.data.kinds.find(
    ({ x402Version, scheme, network: id }) => x402Version === 2 && scheme === 'exact' && id === network.id,
  );
  return kind === undefined ? 'unsupported' : network.family.readSupported(kind.extra);
};
