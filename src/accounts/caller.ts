import type { Nano } from '../kit/money.ts';

/** The caller: a valid key of an active account, read from the store when the request arrived. */
export interface Caller {
  accountId: string;
  keyId: string;
  /** Balance minus open holds, at that moment. */
  available: Nano;
  /** The account's own SKUs, rates and limits (`Account.terms`). */
  terms: string | null;
  /** `Account.isSandbox` */
  isSandbox: boolean;
  /** The account's current one; null if it has none yet. */
  webhookSecret: string | null;
  /** True: the key is from a sign-in with the wallet that owns the account. */
  isSignedIn?: boolean;
  /** What the person allowed the assistant that calls; undefined: the caller has a key. */
  scopes?: readonly string[];
  /** The limits of the key; null: it has none, or only the expiry of a sign-in. */
  limits: CallerLimits | null;
}

export interface CallerLimits {
  /** `ApiKey.models` */
  models: readonly string[] | null;
  isBudgeted: boolean;
}
