/** The shapes that x402 puts on the wire, as far as this service reads and writes them. */

import type { JsonObject } from '../../kit/json.ts';

export type Hex = `0x${string}`;

/** One way to pay, x402 v2. `amount` is in the asset's smallest unit. */
export interface PaymentRequirements {
  scheme: 'exact';
  /** CAIP-2. */
  network: `${string}:${string}`;
  asset: string;
  amount: string;
  payTo: string;
  maxTimeoutSeconds: number;
  extra: Record<string, unknown>;
}

/** One way to pay, x402 v1. */
export interface PaymentRequirementsV1 {
  scheme: 'exact';
  network: string;
  maxAmountRequired: string;
  resource: string;
  description: string;
  mimeType: string;
  payTo: string;
  maxTimeoutSeconds: number;
  asset: string;
  extra: Record<string, unknown>;
}

/** `serviceName` and `tags` are for catalogues (specs/extensions/bazaar.md). */
export interface ResourceInfo {
  url: string;
  description: string;
  mimeType: string;
  serviceName?: string;
  tags?: string[];
}

/** One extension of the protocol: what it says, and the JSON Schema of that. */
export interface Extension {
  info: JsonObject;
  schema: JsonObject;
}

/** By their keys. */
export type Extensions = Readonly<Record<string, Extension>>;

/** What is owed, x402 v2: the decoded `PAYMENT-REQUIRED` header, and the structured content over MCP. */
export interface PaymentRequired {
  x402Version: 2;
  error: string;
  resource: ResourceInfo;
  accepts: PaymentRequirements[];
  extensions?: Extensions;
}

/** The body of a 402: the summary for people, and all that an x402 v1 client needs. */
export interface PaymentRequiredBody {
  error: string;
  x402: { version: string; amount: string; asset: string; payTo: string; chain: string };
  x402Version: 1;
  accepts: PaymentRequirementsV1[];
}

/** A signed ERC-3009 transfer. Integers are decimal strings. */
export type Eip3009Payload = {
  signature: Hex;
  authorization: {
    from: Hex;
    to: Hex;
    value: string;
    validAfter: string;
    validBefore: string;
    nonce: Hex;
  };
};

/** A signed transfer through Permit2, which only x402's proxy may carry out. Integers are decimal strings. */
export type Permit2Payload = {
  signature: Hex;
  permit2Authorization: {
    from: Hex;
    permitted: { token: Hex; amount: string };
    /** x402's proxy, which pays nobody but `witness.to`. */
    spender: Hex;
    nonce: string;
    /** Seconds since 1970. */
    deadline: string;
    witness: { to: Hex; validAfter: string };
  };
};

export type EvmPayload = Eip3009Payload | Permit2Payload;

/** A transfer that the buyer signed and the fee payer has yet to sign, base64. */
export type SolanaPayload = {
  transaction: string;
};

/** A proof in v2 form, as facilitators take it. */
export interface PaymentPayload {
  x402Version: 2;
  resource: ResourceInfo;
  accepted: PaymentRequirements;
  payload: EvmPayload | SolanaPayload;
  extensions?: Extensions;
}

/** What became of a settlement: the receipt. */
export interface SettleResponse {
  success: boolean;
  errorReason?: string;
  payer?: string;
  /** Empty when there is none. */
  transaction: string;
  network: string;
  extensions?: Extensions;
}
