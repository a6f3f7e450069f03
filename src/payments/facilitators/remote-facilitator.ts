import { z } from 'zod';
import type { PaymentNetwork } from '../networks.ts';
import {
  toReasonCode,
  type Facilitator,
  type FacilitatorTimeouts,
  type PaymentOrder,
  type SettleOutcome,
  type SupportedKind,
  type VerifyOutcome,
} from './facilitator.ts';
import { createJsonRpc } from './json-rpc.ts';
import { createRemoteHttp, type RemoteAnswer } from './remote-http.ts';

export interface RemoteFacilitatorOptions {
  network: PaymentNetwork;
  url: string;
  /** The chain, for what the facilitator leaves open. */
  rpcUrl: string;
  /** Epoch milliseconds. */
  now: () => number;
  timeouts: FacilitatorTimeouts;
  fetch?: typeof globalThis.fetch;
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

/** Reasons that speak of the facilitator's own trouble and not of the proof. */
const ownTrouble = /unexpected|unavailable|timeout|internal|rate_limit|^server_|_rpc_/;
/** Refusals of the proof by checks that come before anything is sent. */
const refusal = /^(?:invalid_|insufficient_funds|unsupported_|asset_not_deployed)/;
/** Refusals that also come when this very payment is, or may be, on the chain. */
const mayHaveMoved =
  /transaction_failed|nonce_already_used|transaction_state|simulation_failed|already|expired/;

const isFinalRefusal = (reason: string): boolean =>
  refusal.test(reason) && !mayHaveMoved.test(reason) && !ownTrouble.test(reason);

const toVerifyOutcome = (answer: RemoteAnswer | null): VerifyOutcome => {
  const parsed = answer === null || answer.status >= 500 ? null : verifyAnswer.safeParse(answer.body);
  if (parsed?.success !== true) return { outcome: 'unavailable', reason: 'facilitator_unavailable' };
  const { isValid, invalidReason, payer } = parsed.data;
  if (isValid) return { outcome: 'valid', payer: payer ?? null };
  const reason = toReasonCode(invalidReason, 'refused_by_facilitator');
  return ownTrouble.test(reason)
    ? { outcome: 'unavailable', reason }
    : { outcome: 'invalid', reason, payer: payer ?? null };
};

const transactionPattern = /^(?:0x[0-9a-fA-F]{64}|[1-9A-HJ-NP-Za-km-z]{64,88})$/;

const toSettleOutcome = (answer: RemoteAnswer | null, isRepeated: boolean): SettleOutcome => {
  const unknown = (reason: string, transaction: string | null = null): SettleOutcome => ({
    outcome: 'unknown',
    reason,
    transaction,
  });
  const parsed = answer === null ? null : settleAnswer.safeParse(answer.body);
  if (parsed?.success !== true) return unknown('facilitator_unavailable');
  const { success, errorReason, payer } = parsed.data;
  const transaction = transactionPattern.test(parsed.data.transaction ?? '')
    ? (parsed.data.transaction ?? null)
    : null;
  if (success)
    return transaction === null
      ? unknown('transaction_missing')
      : { outcome: 'settled', transaction, payer: payer ?? null };
  const reason = toReasonCode(errorReason, 'settlement_error');
  // After a first try whose end is not known, no refusal proves that nothing moved.
  if (isRepeated || answer === null || answer.status >= 500) return unknown(reason, transaction);
  const isReverted = transaction !== null && reason.endsWith('_transaction_failed');
  return isReverted || (isFinalRefusal(reason) && transaction === null)
    ? { outcome: 'failed', reason, transaction }
    : unknown(reason, transaction);
};

const readSupported = (
  answer: RemoteAnswer | null,
  network: PaymentNetwork,
): SupportedKind | 'unsupported' | null => {
  const parsed = answer?.status === 200 ? supportedAnswer.safeParse(answer.body) : null;
  if (parsed?.success !== true) return null;
  const kind = parsed.data.kinds.find(
    ({ x402Version, scheme, network: id }) => x402Version === 2 && scheme === 'exact' && id === network.id,
  );
  if (kind === undefined) return 'unsupported';
  if (network.family === 'evm') return { extra: {} };
  const feePayer = kind.extra?.['feePayer'];
  return typeof feePayer === 'string' ? { extra: { feePayer } } : 'unsupported';
};

/** A facilitator of somebody else, over HTTP (x402 v2: `/supported`, `/verify`, `/settle`). */
export const createRemoteFacilitator = (options: RemoteFacilitatorOptions): Facilitator => {
  const { network, url, timeouts } = options;
  const http = createRemoteHttp(url, options.fetch ?? globalThis.fetch);
  const rpc = createJsonRpc({ url: options.rpcUrl, timeoutMs: timeouts.rpcMs });
  let supported: SupportedKind | 'unsupported' | null = null;
  const toRequest = ({ payload, requirements }: PaymentOrder) => ({
    x402Version: 2,
    paymentPayload: payload,
    paymentRequirements: requirements,
  });
  /** A facilitator that says no may have settled all the same: the chain, where it can be asked, has the last word. */
  const confirmFailure = async (
    order: PaymentOrder,
    failed: SettleOutcome & { outcome: 'failed' },
  ): Promise<SettleOutcome> => {
    const { reason, transaction } = failed;
    const { askChain } = await import('./ask-chain.ts');
    const signal = AbortSignal.timeout(timeouts.queryMs);
    const begun = { ...order, transaction, rawTransaction: null, facilitator: url, createdAt: options.now() };
    const found = await askChain(begun, { network, rpc, signal, now: options.now() });
    switch (found.outcome) {
      case 'settled':
        return { ...found, payer: null };
      case 'failed':
        return failed;
      case 'open':
        // Refused before anything was sent, and the chain has seen nothing of it.
        return transaction === null ? failed : { outcome: 'unknown', reason, transaction };
      case 'unknown':
        return { outcome: 'unknown', reason, transaction };
    }
  };

  return {
    name: 'remote',
    address: () => url,
    supports: () => supported,
    refresh: async (outer) => {
      const signal = AbortSignal.any([outer, AbortSignal.timeout(timeouts.queryMs)]);
      const answer = readSupported(await http.get('/supported', signal), network);
      // A facilitator that cannot be asked right now is taken at its last word.
      supported = answer ?? supported;
      if (answer === null) return { ready: false, detail: `the facilitator ${url} does not answer` };
      return answer === 'unsupported'
        ? { ready: false, detail: `the facilitator ${url} does not settle on ${network.label}` }
        : { ready: true, detail: null };
    },
    verify: async (order, outer) => {
      const signal = AbortSignal.any([outer, AbortSignal.timeout(timeouts.verifyMs)]);
      return toVerifyOutcome(await http.post('/verify', toRequest(order), signal));
    },
    settle: async (order, { earlier, beforeBroadcast }) => {
      await beforeBroadcast({
        transaction: earlier?.transaction ?? null,
        rawTransaction: null,
        facilitator: url,
      });
      const signal = AbortSignal.timeout(timeouts.settleMs);
      const answer = await http.post('/settle', toRequest(order), signal);
      const outcome = toSettleOutcome(answer, earlier !== null);
      return outcome.outcome === 'failed' ? confirmFailure(order, outcome) : outcome;
    },
    findOutcome: async (payment, outer) => {
      const signal = AbortSignal.any([outer, AbortSignal.timeout(timeouts.queryMs)]);
      const { askChain } = await import('./ask-chain.ts');
      const found = await askChain(payment, { network, rpc, signal, now: options.now() });
      // The facilitator may be told to settle again: the chain takes the same payment once.
      return found.outcome === 'unknown' ? { outcome: 'open' } : found;
    },
  };
};
