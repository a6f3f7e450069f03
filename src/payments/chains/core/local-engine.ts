import type { SchemeNetworkFacilitator } from '@x402/core/types';
import type { Log } from '../../../kit/log.ts';
import type { FacilitatorHealth, PaymentOrder, SettleOptions, VerifyOutcome } from './facilitator.ts';

/** A signal that ends with `outer`, or when the time is over. */
export const signalWithin = (timeoutMs: number, outer?: AbortSignal): AbortSignal => {
  const limit = AbortSignal.timeout(timeoutMs);
  return outer === undefined ? limit : AbortSignal.any([outer, limit]);
};

/** For calls of a scheme that only verify. */
export const sendNothing = (): Promise<never> => Promise.reject(new Error('verifying sends nothing'));

/**
 * Remembers the errors that `beforeBroadcast` throws. The x402 schemes turn every error into a refused payment, but
 * with such an error nothing was sent, and the caller must get the error itself.
 */
export const watchBeforeBroadcast = (
  beforeBroadcast: SettleOptions['beforeBroadcast'],
): { beforeBroadcast: SettleOptions['beforeBroadcast']; throwFirstError(): void } => {
  const errors: unknown[] = [];
  return {
    beforeBroadcast: async (outgoing) => {
      try {
        await beforeBroadcast(outgoing);
      } catch (error) {
        errors.push(error);
        throw error;
      }
    },
    throwFirstError: () => {
      if (errors.length > 0) throw errors[0];
    },
  };
};

/** What happened during one call of an x402 scheme. */
export interface SchemeRecord {
  /** True when the node failed to answer; then the scheme's verdict says nothing about the proof. */
  isOutage: boolean;
}

interface SchemeCall {
  scheme: SchemeNetworkFacilitator;
  record: SchemeRecord;
  log: Log;
}

/** Verifies a proof by the x402 scheme. `refine` turns the scheme's reason of a refusal into one that may be shown. */
export const verifyByScheme = async (
  { payload, requirements }: PaymentOrder,
  { scheme, record, log, refine }: SchemeCall & { refine: (reason?: string) => Promise<string> | string },
): Promise<VerifyOutcome> => {
  const invalid = (reason: string): VerifyOutcome =>
    record.isOutage ? { outcome: 'unavailable', reason: 'rpc_unavailable' } : { outcome: 'invalid', reason };
  try {
    const { isValid, invalidReason } = await scheme.verify(payload, requirements);
    return isValid && !record.isOutage ? { outcome: 'valid' } : invalid(await refine(invalidReason));
  } catch (error) {
    log.warn({ err: error }, 'verifying a payment ended in an error');
    return invalid(await refine());
  }
};

/** Settles by the x402 scheme. Returns its reason for a failure. Null: only the record shows what happened. */
export const settleByScheme = async (
  { payload, requirements, charge }: PaymentOrder,
  { scheme, record, log }: SchemeCall,
): Promise<string | undefined> => {
  try {
    const amount = charge === undefined ? requirements.amount : charge.toString();
    return (await scheme.settle(payload, { ...requirements, amount })).errorReason;
  } catch (error) {
    log.warn({ err: error }, 'settling a payment ended in an error');
    record.isOutage = true;
    return undefined;
  }
};

/** Below this many settlements the operator is told to fund the account. */
const fewSettlements = 50n;

/**
 * Judges whether an account can pay for settlements. Amounts are in the smallest unit of the chain's coin;
 * `settlementCost` is the most that one costs at the present price. The words do not change with the balance, so that
 * logs do not fill.
 */
export const judgeFunds = (of: {
  account: string;
  spendable: bigint;
  settlementCost: bigint;
}): FacilitatorHealth => {
  const { account, spendable, settlementCost } = of;
  const settlementsLeft = settlementCost === 0n ? 0 : Number(spendable / settlementCost);
  if (spendable < settlementCost)
    return {
      ready: false,
      settlementsLeft: 0,
      detail: `the settling account ${account} cannot pay for one settlement at the present price; fund it`,
    };
  const isLow = spendable < settlementCost * fewSettlements;
  return {
    ready: true,
    settlementsLeft,
    detail: isLow
      ? `the settling account ${account} can pay for fewer than ${fewSettlements} settlements; fund it`
      : null,
  };
};
