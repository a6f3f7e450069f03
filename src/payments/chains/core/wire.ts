/** The shapes that x402 puts on the wire, as far as this service reads and writes them. */

import type * as x402 from '@x402/core/types';
import { z } from 'zod';
import type { JsonObject } from '../../../kit/json.ts';

/** A whole number of up to 256 bits, in decimal digits. */
export const integerText = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,77})$/, { error: 'must be a whole number in decimal digits', abort: true })
  .refine((digits) => BigInt(digits) < 1n << 256n, 'is too big');

/** `upto`: the buyer signs the most that may be taken, and what was used is taken. x402 v1 has `exact` alone. */
export type PaymentScheme = 'exact' | 'upto';

/** One way to pay, x402 v2. `amount` is in the asset's smallest unit; for `upto` it is the most. */
export interface PaymentRequirements extends x402.PaymentRequirements {
  scheme: PaymentScheme;
}

/** One way to pay, x402 v1. */
export interface PaymentRequirementsV1
  extends
    Omit<PaymentRequirements, 'scheme' | 'network' | 'amount'>,
    Pick<ResourceInfo, 'description' | 'mimeType'> {
  scheme: 'exact';
  network: string;
  maxAmountRequired: string;
  resource: string;
}

/** `serviceName` and `tags` are for catalogues (specs/extensions/bazaar.md). */
export interface ResourceInfo extends x402.ResourceInfo {
  description: string;
  mimeType: string;
}

export interface Extension {
  info: JsonObject;
  schema: JsonObject;
}

export type Extensions = Readonly<Record<string, Extension>>;

/** The terms of x402 v2: the decoded `PAYMENT-REQUIRED` header, and the structured content over MCP. */
export interface PaymentRequired {
  x402Version: 2;
  error: string;
  resource: ResourceInfo;
  accepts: PaymentRequirements[];
  extensions?: Extensions;
}

/** The body of a 402: a summary for people, and the terms for x402 v1 clients. */
export interface PaymentRequiredBody {
  error: string;
  x402: { version: string; amount: string; asset: string; payTo: string; chain: string };
  x402Version: 1;
  accepts: PaymentRequirementsV1[];
  /** Those of this one challenge, for programs that do not read headers. */
  extensions?: Extensions;
}

/** The part of a proof that the buyer signed. Its form is that of the network's family. */
export type SignedPayload = Readonly<Record<string, unknown>>;

/** The buyer signed something that is not a payment of this form. Every other error is a fault of this service. */
export class UnreadablePayload extends Error {
  override readonly name = 'UnreadablePayload';
}

/** A proof in v2 form, as facilitators take it. */
export interface PaymentPayload {
  x402Version: 2;
  resource: ResourceInfo;
  accepted: PaymentRequirements;
  payload: SignedPayload;
  extensions?: Extensions;
}

export interface SettleResponse {
  success: boolean;
  errorReason?: string;
  payer?: string;
  /** Empty for none. */
  transaction: string;
  network: string;
  /** The amount taken, in the asset's smallest unit; absent if it is the signed amount. */
  amount?: string;
  extensions?: Extensions;
}

export const encodeBase64Json = (value: unknown): string =>
  Buffer.from(JSON.stringify(value), 'utf8').toString('base64');

const base64Pattern = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** Decodes base64 (plain or URL-safe) of JSON. Throws SyntaxError or TypeError for any other text. */
export const decodeBase64Json = (text: string): unknown => {
  if (!base64Pattern.test(text)) throw new SyntaxError('not base64');
  const bytes = Buffer.from(text, 'base64');
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
};

/** Decodes base64 of JSON as `decodeBase64Json`; undefined for any other text, and for what is no text. */
export const parseBase64Json = (text: unknown): unknown => {
  try {
    return typeof text === 'string' ? decodeBase64Json(text) : undefined;
  } catch {
    return undefined;
  }
};
