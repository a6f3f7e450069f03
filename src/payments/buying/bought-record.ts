import { currentPurpose } from '../../http/pay-settings.ts';
import type { HttpRequest } from '../../http/send-request.ts';
import type { Clock } from '../../kit/clock.ts';
import { sha256 } from '../../kit/ids.ts';
import type { FoundOutcome } from '../chains/core/facilitator.ts';
import { createJsonRpc } from '../chains/core/json-rpc.ts';
import type { PaymentPayload, PaymentRequirements } from '../chains/core/wire.ts';
import type { BoughtPayment } from '../../store/store.ts';
import type { BuyingNetwork } from './open-wallet.ts';

/** A call of an upstream that may have to be paid. */
export interface PaidCall extends Pick<
  BoughtPayment,
  'upstream' | 'request' | 'operation' | 'jobId' | 'soldPayment'
> {
  signal: AbortSignal | null;
}

/** A form's boundary is random, and differs when a job is tried again. */
const withoutBoundary = (bytes: Buffer, contentType: string): string | Buffer => {
  const boundary = /boundary="?([^";]+)/i.exec(contentType)?.[1];
  return boundary === undefined ? bytes : bytes.toString('latin1').replaceAll(boundary, '');
};

/** Names what a call asks for. `body` is whole. */
export const toPaidCall = (
  upstream: string,
  { url, request, body }: { url: string; request: HttpRequest; body: string | Uint8Array | null },
): PaidCall => {
  const purpose = currentPurpose();
  const { method = 'GET', headers = {}, signal = null } = request;
  const digest = sha256(withoutBoundary(Buffer.from(body ?? ''), headers['content-type'] ?? ''));
  const named = [upstream, purpose.jobId, method, url, digest];
  return { ...purpose, upstream, signal, request: sha256(JSON.stringify(named)) };
};

/** One look at the chain. */
const lookMs = 10_000;
const rpcMs = 5_000;

/** Asks the chain for the outcome of a payment. `failed`: it did not happen, and cannot any more. */
export const findBoughtOutcome = async (
  payment: BoughtPayment,
  { networks, clock }: { networks: readonly BuyingNetwork[]; clock: Clock },
): Promise<FoundOutcome> => {
  const network = networks.find(({ id }) => id === payment.network);
  if (network === undefined) return { outcome: 'unknown', reason: 'network_not_configured' };
  const { transaction, createdAt } = payment;
  const begun = {
    payload: JSON.parse(payment.payload) as PaymentPayload,
    requirements: JSON.parse(payment.requirements) as PaymentRequirements,
    transaction,
    rawTransaction: null,
    facilitator: null,
    createdAt,
  };
  const rpc = createJsonRpc({ url: network.rpcUrl, timeoutMs: rpcMs });
  try {
    return await network.family.findOutcome(begun, {
      rpc,
      signal: AbortSignal.timeout(lookMs),
      now: clock.now(),
    });
  } catch {
    // The node does not tell: it is asked again later.
    return { outcome: 'unknown', reason: 'rpc_unavailable' };
  }
};
