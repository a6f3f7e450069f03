import type { Nano } from '../../kit/money.ts';
import { offeredTerms, type PaymentMethod } from './challenge.ts';
import type { PaymentAsset, TransferMethod } from './networks.ts';
import type { Proof } from './parse-proof.ts';
import { permit2Contracts } from '../evm/permit2-contracts.ts';
import type { EvmPayload, PaymentRequirements } from './wire.ts';

export type TermsMatch =
  | { outcome: 'match'; method: PaymentMethod; requirements: PaymentRequirements }
  /** `reason` is a stable code, safe to show. */
  | { outcome: 'mismatch'; reason: string }
  /** The network is one of ours, and its terms are not known right now. */
  | { outcome: 'unavailable' };

const isSame = (a: string, b: string, isEvm: boolean): boolean =>
  isEvm ? a.toLowerCase() === b.toLowerCase() : a === b;

/** What the signed part of an EVM proof says that is not in the terms; null for nothing. */
const findSignedMismatch = (payload: EvmPayload, terms: PaymentRequirements): string | null => {
  if ('authorization' in payload) {
    const { to, value } = payload.authorization;
    if (!isSame(to, terms.payTo, true)) return 'payment_recipient_mismatch';
    return value === terms.amount ? null : 'payment_amount_mismatch';
  }
  const { permitted, spender, witness } = payload.permit2Authorization;
  if (!isSame(spender, permit2Contracts.proxy, true)) return 'payment_spender_mismatch';
  if (!isSame(permitted.token, terms.asset, true)) return 'payment_asset_mismatch';
  if (!isSame(witness.to, terms.payTo, true)) return 'payment_recipient_mismatch';
  return permitted.amount === terms.amount ? null : 'payment_amount_mismatch';
};

/** Why the proof does not pay these terms; null when it does, as far as it says itself. */
const findMismatch = (
  { accepted, payload, network }: Proof,
  { terms, asset }: { terms: PaymentRequirements; asset: PaymentAsset },
): string | null => {
  const isEvm = network.family === 'evm';
  if (accepted !== null) {
    if (!isSame(accepted.asset, terms.asset, isEvm)) return 'payment_asset_mismatch';
    if (!isSame(accepted.payTo, terms.payTo, isEvm)) return 'payment_recipient_mismatch';
    if (accepted.amount !== terms.amount) return 'payment_amount_mismatch';
  }
  if ('transaction' in payload) return null;
  const method: TransferMethod = 'authorization' in payload ? 'eip3009' : 'permit2';
  return method === asset.transfer ? findSignedMismatch(payload, terms) : 'payment_method_mismatch';
};

/**
 * Finds the terms of ours that a proof answers. Terms do not change while a process runs, except for a Solana fee
 * payer, so a proof made at the challenge still answers them; `recentFeePayers` has those that were offered lately.
 */
export const matchTerms = (
  proof: Proof,
  options: { methods: readonly PaymentMethod[]; price: Nano; recentFeePayers: ReadonlySet<string> },
): TermsMatch => {
  const { methods, price, recentFeePayers } = options;
  const method = methods.find(({ network }) => network.id === proof.network.id);
  if (method === undefined) return { outcome: 'mismatch', reason: 'payment_network_mismatch' };
  const [offer] = offeredTerms([method], price);
  if (offer === undefined) return { outcome: 'unavailable' };
  const { requirements } = offer;
  const reason = findMismatch(proof, { terms: requirements, asset: method.network.asset });
  if (reason !== null) return { outcome: 'mismatch', reason };
  const feePayer = proof.accepted?.feePayer ?? null;
  if (feePayer === null || !recentFeePayers.has(feePayer)) return { outcome: 'match', method, requirements };
  return {
    outcome: 'match',
    method,
    requirements: { ...requirements, extra: { ...requirements.extra, feePayer } },
  };
};
