import type { Nano } from '../../kit/money.ts';
import { offeredTerms, type PaymentMethod, type UptoTerms } from './challenge.ts';
import type { PaymentAsset } from '../chains/core/network-family.ts';
import type { FeePayers } from '../chains/core/facilitator.ts';
import type { Proof } from './parse-proof.ts';
import type { PaymentRequirements } from '../chains/core/wire.ts';

export type TermsMatch =
  | { outcome: 'match'; method: PaymentMethod; requirements: PaymentRequirements }
  /** `reason`: a stable code that may be shown. */
  | { outcome: 'mismatch'; reason: string }
  /** The network is configured, and its terms are not known right now. */
  | { outcome: 'unavailable' };

/** Returns the first contradiction between a proof and our terms; null when the proof pays them, by its own words. */
const findMismatch = (
  { accepted, payload, network: { family } }: Proof,
  { terms, asset }: { terms: PaymentRequirements; asset: PaymentAsset },
): string | null => {
  const isSame = (a: string, b: string): boolean => family.normalize(a) === family.normalize(b);
  if (accepted !== null) {
    if (!isSame(accepted.asset, terms.asset)) return 'payment_asset_mismatch';
    if (!isSame(accepted.payTo, terms.payTo)) return 'payment_recipient_mismatch';
    if (accepted.amount !== terms.amount) return 'payment_amount_mismatch';
  }
  return family.findMismatch(payload, { terms, asset });
};

/**
 * Finds our terms that a proof answers. Terms do not change while a process runs, except for a Solana fee payer;
 * `recentFeePayers` has the fee payers of recent offers.
 */
export const matchTerms = (
  proof: Proof,
  options: {
    methods: readonly PaymentMethod[];
    price: Nano;
    recentFeePayers: Pick<FeePayers, 'has'>;
    /** Absent: `exact` alone. */
    upto?: UptoTerms | null;
  },
): TermsMatch => {
  const { methods, price, recentFeePayers, upto = null } = options;
  const method = methods.find(({ network }) => network.id === proof.network.id);
  if (method === undefined) return { outcome: 'mismatch', reason: 'payment_network_mismatch' };
  const offers = offeredTerms([method], price, upto);
  if (offers.length === 0) return { outcome: 'unavailable' };
  const offer = offers.find(({ requirements: { scheme } }) => scheme === proof.scheme);
  if (offer === undefined) return { outcome: 'mismatch', reason: 'payment_scheme_mismatch' };
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
