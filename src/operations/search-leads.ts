import { z } from 'zod';
import type { SearchConfig } from '../config.ts';
import type { JsonObject } from '../json.ts';
import type { LeadQuery } from '../leads/lead-source.ts';
import { queryProblem, type QueryProblem } from '../leads/search-terms.ts';
import { nanoPerUsd, type Nano } from '../money.ts';
import { invalidQuery } from './validate.ts';
import type { PaidOperation, Services } from './operation.ts';

const mostFollowers = 1_000_000_000;
const followers = z.int().min(0).max(mostFollowers);
const text = (longest: number) =>
  z
    .string()
    .max(longest)
    .transform((value) => value.trim())
    .transform((value) => (value === '' ? undefined : value))
    .optional();

const createInput = (maxLimit: number) =>
  z.object({
    query: text(200).describe(
      'Words to find in username, name, category or bio; all must match, by whole word or beginning (3+ letters).',
    ),
    country: text(10)
      .transform((value) => value?.toUpperCase())
      .pipe(
        z
          .string()
          .regex(/^[A-Z]{2}$/, 'must be a 2-letter ISO country code such as US')
          .optional(),
      )
      .describe('2-letter ISO country code, e.g. US.'),
    category: text(100).describe(
      'Whole business category, e.g. Beauty, Fitness, Tech, Food, Travel, Fashion.',
    ),
    gender: z.enum(['male', 'female']).optional(),
    min_followers: followers.optional(),
    max_followers: followers.optional(),
    limit: z
      .int()
      .min(1)
      .max(maxLimit)
      .default(20)
      .describe('Most results to return; the price may depend on it.'),
  });

type Input = z.infer<ReturnType<typeof createInput>>;

const lead = z.looseObject({
  username: z.string(),
  full_name: z.string(),
  followers: z.int(),
  following: z.int(),
  is_verified: z.boolean(),
  is_business: z.boolean(),
  category: z.string().optional(),
  bio: z.string().optional(),
  public_email: z.string().optional(),
  media_count: z.int().optional(),
  gender: z.enum(['male', 'female']).optional(),
  profile_pic_url: z.string().optional(),
  country: z.string().optional(),
  city: z.string().optional(),
});

/** The search as it is sold under these settings. */
export const createSearchLeads = (search: SearchConfig): PaidOperation<Input> => ({
  name: 'search_leads',
  title: 'Search influencers',
  description:
    'Finds Instagram influencer profiles by words, category, country, gender and follower range, most followers ' +
    `first. Each call is paid with USDC by x402, no account: ${priceInWords(search)}. An unpaid call answers the ` +
    'payment terms.',
  group: 'search',
  payment: 'x402',
  input: createInput(search.maxLimit),
  output: z.looseObject({
    results: z.array(lead),
    count: z.int().describe('Results returned; below limit when fewer match.'),
  }),
  rest: {
    method: 'GET',
    path: '/v1/search',
    query: ['query', 'country', 'category', 'gender', 'min_followers', 'max_followers', 'limit'],
    validation: 'detail',
    errors: [
      'payment_required',
      'invalid_payment',
      'payment_conflict',
      'payment_in_progress',
      'invalid_parameter',
      'rate_limit_exceeded',
      'server_error',
      'upstream_error',
      'payment_pending',
      'payment_unavailable',
    ],
  },
  tool: { unlisted: [], readOnly: true, idempotent: true, openWorld: true },

  price: ({ limit }) => searchPrices[search.pricing](limit),
  priceRange: { least: searchPrices[search.pricing](1), most: searchPrices[search.pricing](search.maxLimit) },
  priceUnder: (pricing, { limit }) => (isPricing(pricing) ? searchPrices[pricing](limit) : null),

  check: (request) => {
    const problem = request.query === undefined ? null : queryProblem(request.query);
    if (problem !== null) throw invalidQuery('query', queryProblems[problem]);
    const { min_followers: least, max_followers: most } = request;
    if (least !== undefined && most !== undefined && least > most)
      throw invalidQuery('min_followers', 'must not be above max_followers');
  },

  produce: async (request, { leads }: Services, signal): Promise<JsonObject> => {
    const results = await leads.search(toLeadQuery(request), { signal });
    return { results: results.map((result) => ({ ...result })), count: results.length };
  },

  isFree: ({ count }) => count === 0 && !search.chargeEmpty,

  isSandbox: ({ leads }) => leads.status().synthetic,
});

const priceInWords = ({ pricing }: SearchConfig): string =>
  pricing === 'flat'
    ? '$0.50'
    : '$0.10 for up to 20 results, and $0.002 for each result asked for above that';

const queryProblems: Record<QueryProblem, string> = {
  no_words: 'must contain a letter or a digit',
  too_long: 'must be at most 200 characters',
  too_many_words: 'must have at most 24 words',
};

const searchPrices: Record<SearchConfig['pricing'], (limit: number) => Nano> = {
  flat: () => nanoPerUsd / 2n,
  /** $0.10, and $0.002 for each result asked for above 20. */
  dynamic: (limit) => nanoPerUsd / 10n + BigInt(Math.max(0, limit - 20)) * (nanoPerUsd / 500n),
};

const isPricing = (name: string): name is SearchConfig['pricing'] => Object.hasOwn(searchPrices, name);

const toLeadQuery = (request: Input): LeadQuery => ({
  ...(request.query === undefined ? {} : { query: request.query }),
  ...(request.country === undefined ? {} : { country: request.country }),
  ...(request.category === undefined ? {} : { category: request.category }),
  ...(request.gender === undefined ? {} : { gender: request.gender }),
  ...(request.min_followers === undefined ? {} : { minFollowers: request.min_followers }),
  ...(request.max_followers === undefined ? {} : { maxFollowers: request.max_followers }),
  limit: request.limit,
});
