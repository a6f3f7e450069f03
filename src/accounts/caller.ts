import type { Nano } from '../kit/money.ts';

/** Who calls: one live key of one active account, as read from the store when the request came in. */
export interface Caller {
  accountId: string;
  keyId: string;
  /** Sum of the ledger less open holds, at that moment. */
  available: Nano;
  /** The account's own SKUs, rates and limits (`Account.terms`). */
  terms: string | null;
  /** `Account.isSandbox` */
  isSandbox: boolean;
}
