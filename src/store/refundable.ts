import type { NewRefund } from './store.ts';

/** Whether a refund asks for more than there is to give back; "all that is left" does when nothing is. */
export const isTooMuch = (amount: NewRefund['amount'], refundable: bigint): boolean =>
  amount === null ? refundable === 0n : amount > refundable;
