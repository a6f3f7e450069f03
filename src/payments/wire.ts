/** The shapes that x402 puts on the wire, as far as this service reads and writes them. */

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

export interface ResourceInfo {
  url: string;
  description: string;
  mimeType: string;
}

/** What is owed, x402 v2: the decoded `PAYMENT-REQUIRED` header, and the structured content over MCP. */
export interface PaymentRequired {
  x402Version: 2;
  error: string;
  resource: ResourceInfo;
  accepts: PaymentRequirements[];
}

/** The body of a 402: the summary for people, and all that an x402 v1 client needs. */
export interface PaymentRequiredBody {
  error: string;
  x402: { version: string; amount: string; asset: string; payTo: string; chain: string };
  x402Version: 1;
  accepts: PaymentRequirementsV1[];
}

/** A signed ERC-3009 transfer. Integers are decimal strings. */
export type EvmPayload = {
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
}

/** What became of a settlement: the receipt. */
export interface SettleResponse {
  success: boolean;
  errorReason?: string;
  payer?: string;
  /** Empty when there is none. */
  transaction: string;
  network: string;
}
