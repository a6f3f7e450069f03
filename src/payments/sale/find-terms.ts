import { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';
import { sha256 } from '../../kit/ids.ts';
import { canonicalJson } from '../../kit/json.ts';
import { maxTimeoutSeconds, offeredTerms, type PaymentMethod, type UptoTerms } from '../wire/challenge.ts';
import type { SaleDescription } from '../wire/sold-resources.ts';
import type { Store } from '../../store/store.ts';
import type { Nano } from '../../kit/money.ts';
import type { PaymentAsset } from '../chains/core/network-family.ts';
import type { FeePayers } from '../chains/core/facilitator.ts';
import type { Proof } from '../wire/parse-proof.ts';
import type { PaymentRequirements } from '../chains/core/wire.ts';

export type TermsMatch =
  | { outcome: 'match'; method: PaymentMethod; requirements: PaymentRequirements }
  /** `reason`: a stable code that may be shown. */
  | { outcome: 'mismatch'; reason: string }
  /** The network is configured, and its terms are not known right now. */
  | { outcome: 'unavailable' };

interface WantedTerms {
  sale: string;
  price: Nano;
  /** The prices under the rules of those names, which may have been offered until lately. */
  formerPrices?: Readonly<Record<string, Nano>> | undefined;
  /** Null: `exact` alone. */
  upto: UptoTerms | null;
}

interface TermsContext {
  store: Pick<Store, 'noteOfferedTerms' | 'listOfferedTerms'>;
  methods: readonly PaymentMethod[];
  sales: readonly Pick<SaleDescription, 'name' | 'pricing'>[];
  recentFeePayers: Pick<FeePayers, 'has'>;
  clock: Clock;
}

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

/** Terms do not change while a process runs, except for a Solana fee payer: `recentFeePayers` has the recent ones. */
const matchTerms = (
  proof: Proof,
  { price, upto }: Pick<WantedTerms, 'price' | 'upto'>,
  { methods, recentFeePayers }: Pick<TermsContext, 'methods' | 'recentFeePayers'>,
): TermsMatch => {
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

export const noteTermsEveryMs = 60_000;
/** The time that a buyer has after the challenge, and two rounds of noting. */
const validMs = maxTimeoutSeconds * 1_000 + 2 * noteTermsEveryMs;
/** Many refused proofs in this time ask the store once. */
const listFreshMs = 1_000;

const termsSchema = z.object({
  /** The price rule of each operation, by name. */
  pricing: z.record(z.string(), z.string()),
  networks: z.record(
    z.string(),
    z.object({
      payTo: z.string(),
      asset: z.object({
        symbol: z.string(),
        address: z.string(),
        decimals: z.number(),
        eip712: z.object({ name: z.string(), version: z.string() }).nullable(),
        transfer: z.enum(['eip3009', 'permit2']).nullable(),
      }),
    }),
  ),
});

/** Terms under which this service, or another process on its store, recently sold. */
type FormerTerms = z.infer<typeof termsSchema>;

const methodsUnder = ({ networks }: FormerTerms, methods: readonly PaymentMethod[]): PaymentMethod[] =>
  methods.flatMap((method) => {
    const former = networks[method.network.id];
    return former === undefined
      ? []
      : [{ ...method, payTo: former.payTo, network: { ...method.network, asset: former.asset } }];
  });

export type TermsRegistry = ReturnType<typeof createTermsRegistry>;

/** Keeps terms valid for as long as they promised, across a restart with another price or wallet. */
export const createTermsRegistry = (context: TermsContext) => {
  const { store, methods, sales, clock } = context;
  const present: FormerTerms = {
    pricing: Object.fromEntries(sales.map(({ name, pricing }) => [name, pricing])),
    networks: Object.fromEntries(
      methods.map(({ network, payTo }) => [network.id, { payTo, asset: network.asset }]),
    ),
  };
  const text = canonicalJson(present);
  let listed: { at: number; terms: Promise<FormerTerms[]> } | null = null;

  const read = async (): Promise<FormerTerms[]> => {
    const offered = await store.listOfferedTerms({ since: clock.now() - validMs });
    return offered.flatMap(({ terms }) => {
      // Terms that another version wrote in another form are not kept.
      const parsed = terms === text ? null : termsSchema.safeParse(JSON.parse(terms));
      return parsed?.success === true ? [parsed.data] : [];
    });
  };

  /** Lists other terms for which a proof may still come, newest first. */
  const list = async (): Promise<readonly FormerTerms[]> => {
    const now = clock.now();
    if (listed === null || now - listed.at >= listFreshMs) listed = { at: now, terms: read() };
    try {
      return await listed.terms;
    } catch (error) {
      listed = null;
      throw error;
    }
  };

  return {
    note: (): Promise<void> => {
      const now = clock.now();
      return store.noteOfferedTerms({
        fingerprint: sha256(text),
        terms: text,
        offeredAt: now,
        forgetBefore: now - validMs,
      });
    },
    find: async (proof: Proof, { sale, price, formerPrices, upto }: WantedTerms): Promise<TermsMatch> => {
      const present = matchTerms(proof, { price, upto }, context);
      if (present.outcome !== 'mismatch' || formerPrices === undefined) return present;
      for (const former of await list()) {
        const pricing = former.pricing[sale];
        const formerPrice = pricing === undefined ? undefined : formerPrices[pricing];
        if (formerPrice === undefined) continue;
        const wanted = { price: formerPrice, upto };
        const found = matchTerms(proof, wanted, { ...context, methods: methodsUnder(former, methods) });
        if (found.outcome === 'match') return found;
      }
      return present;
    },
  };
};
