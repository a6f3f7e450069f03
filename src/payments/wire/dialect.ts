import type { IncomingHttpHeaders } from 'node:http';
import type { Nano } from '../../kit/money.ts';
import type { DialectProblem, PaymentMethod } from './challenge.ts';

/** A way to pay over HTTP beside x402. Its credentials are proofs of x402 in other words. */
export interface Dialect {
  /** As people read it. */
  name: string;
  /** The variable that switches it on, and what is said of it. */
  setting: `X402_${string}`;
  settingText: string;
  /** The headers, beside those of x402, that a page may send, and those that it may read. */
  requestHeaders: readonly string[];
  responseHeaders: readonly string[];
  /** Whether the value of `Authorization` is a credential in place of a key. */
  isCredential: (authorization: string) => boolean;
  readRequest: (headers: IncomingHttpHeaders) => DialectRequest;
  /** Makes the headers of a 402 that offer its terms; none when no network can be offered. Those of one name are joined. */
  writeTerms: (
    terms: {
      methods: readonly PaymentMethod[];
      price: Nano;
      /** The public host. */
      realm: string;
      /** Epoch milliseconds. */
      now: number;
    },
    binding: DialectBinding,
  ) => (readonly [name: string, value: string])[];
  /** Reads a credential that answers terms for this very request. */
  readCredential: (credential: string, binding: DialectBinding) => Credential | { problem: DialectProblem };
}

export interface DialectRequest {
  /** The credential with its scheme, as it came; null for none. */
  credential: string | null;
  /** The request header for the credential. */
  field: string;
}

/** Ties terms to one request. */
export interface DialectBinding {
  /** That of the dialect, shared by all processes on one store. */
  key: string;
  requestHash: string;
  field: string;
}

/** The payment in it is not verified. */
export interface Credential {
  /** The same proof in x402 v2. */
  proof: object;
  /** Says why it was refused: `reason` is what x402 says; null: the proof cannot be read. */
  refuse: (reason: string | null, now: number) => DialectProblem;
  /** Returns the headers of a success. `settledAt`: epoch milliseconds. */
  writeReceipt: (paid: { transaction: string; settledAt: number }) => Readonly<Record<string, string>>;
}
