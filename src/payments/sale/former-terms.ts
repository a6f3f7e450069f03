import { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';
import { sha256 } from '../../kit/ids.ts';
import { canonicalJson } from '../../kit/json.ts';
import { maxTimeoutSeconds, type PaymentMethod } from '../wire/challenge.ts';
import type { SaleDescription } from '../wire/sale-description.ts';
import type { Store } from '../../store/store.ts';

export const noteTermsEveryMs = 60_000;
/** The time that a buyer has after the challenge, and two rounds of noting. */
const validMs = maxTimeoutSeconds * 1_000 + 2 * noteTermsEveryMs;
/** Many refused proofs in this time ask the store once. */
const listFreshMs = 1_000;

const termsSchema = z.object({
  /** The price rule of each operation, by name. A single rule, as earlier versions wrote it, holds for all of them. */
  pricing: z.union([z.string(), z.record(z.string(), z.string())]),
  /** By CAIP-2 name. */
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

/** Returns the payment methods with the wallets and tokens of those terms. */
export const methodsUnder = ({ networks }: FormerTerms, methods: readonly PaymentMethod[]): PaymentMethod[] =>
  methods.flatMap((method) => {
    const former = networks[method.network.id];
    return former === undefined
      ? []
      : [{ ...method, payTo: former.payTo, network: { ...method.network, asset: former.asset } }];
  });

/** Returns the name of the price rule of an operation under those terms; null when it was not sold. */
export const pricingOf = ({ pricing }: FormerTerms, sale: string): string | null =>
  typeof pricing === 'string' ? pricing : (pricing[sale] ?? null);

/** Keeps terms valid for as long as they promised, across a restart with another price or wallet. */
export const createFormerTermsRegistry = (context: {
  store: Pick<Store, 'noteOfferedTerms' | 'listOfferedTerms'>;
  methods: readonly PaymentMethod[];
  sales: readonly Pick<SaleDescription, 'name' | 'pricing'>[];
  clock: Clock;
}) => {
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

  return {
    /** Stores that the present terms are offered. */
    note: (): Promise<void> => {
      const now = clock.now();
      return store.noteOfferedTerms({
        fingerprint: sha256(text),
        terms: text,
        offeredAt: now,
        forgetBefore: now - validMs,
      });
    },
    /** Lists other terms for which a proof may still come, newest first. */
    list: async (): Promise<readonly FormerTerms[]> => {
      const now = clock.now();
      if (listed === null || now - listed.at >= listFreshMs) listed = { at: now, terms: read() };
      try {
        return await listed.terms;
      } catch (error) {
        listed = null;
        throw error;
      }
    },
  };
};
