import { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';
import { sha256 } from '../../kit/ids.ts';
import { canonicalJson } from '../../kit/json.ts';
import { maxTimeoutSeconds, type PaymentMethod } from '../../payments/core/challenge.ts';
import type { Store } from '../../store/store.ts';

/** Terms under which this service, or another process on its store, sold until lately. */
export interface FormerTerms {
  /** Names the rule that prices were made by. */
  pricing: string;
  /** By CAIP-2 name. */
  networks: Readonly<Record<string, { payTo: string; asset: TermsAsset }>>;
}

type TermsAsset = PaymentMethod['network']['asset'];

export interface FormerTermsBook {
  /** Writes down that the present terms are offered. */
  note(): Promise<void>;
  /** What else was offered so lately that a proof for it may still come, newest first. */
  list(): Promise<readonly FormerTerms[]>;
}

export const noteTermsEveryMs = 60_000;
/** A buyer has so long from the challenge on, and what is offered is noted only from time to time. */
const validMs = maxTimeoutSeconds * 1_000 + 2 * noteTermsEveryMs;
/** Many refused proofs at once ask the store once. */
const listFreshMs = 1_000;

const termsSchema = z.object({
  pricing: z.string(),
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

/** The methods as they were under those terms: where they paid to, and in what. */
export const methodsUnder = ({ networks }: FormerTerms, methods: readonly PaymentMethod[]): PaymentMethod[] =>
  methods.flatMap((method) => {
    const former = networks[method.network.id];
    return former === undefined
      ? []
      : [{ ...method, payTo: former.payTo, network: { ...method.network, asset: former.asset } }];
  });

/**
 * Keeps terms valid for those who were told them, across a restart with another price or wallet: what a buyer was
 * offered holds for as long as it said.
 */
export const createFormerTermsBook = (context: {
  store: Pick<Store, 'noteOfferedTerms' | 'listOfferedTerms'>;
  methods: readonly PaymentMethod[];
  pricing: string;
  clock: Clock;
}): FormerTermsBook => {
  const { store, methods, pricing, clock } = context;
  const present: FormerTerms = {
    pricing,
    networks: Object.fromEntries(
      methods.map(({ network, payTo }) => [network.id, { payTo, asset: network.asset }]),
    ),
  };
  const text = canonicalJson(present);
  let listed: { at: number; terms: Promise<readonly FormerTerms[]> } | null = null;

  const read = async (): Promise<readonly FormerTerms[]> => {
    const offered = await store.listOfferedTerms({ since: clock.now() - validMs });
    return offered.flatMap(({ terms }) => {
      // What another version wrote in another form cannot be held to.
      const parsed = terms === text ? null : termsSchema.safeParse(JSON.parse(terms));
      return parsed?.success === true ? [parsed.data] : [];
    });
  };

  return {
    note: () => {
      const now = clock.now();
      return store.noteOfferedTerms({
        fingerprint: sha256(text),
        terms: text,
        offeredAt: now,
        forgetBefore: now - validMs,
      });
    },
    list: async () => {
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
