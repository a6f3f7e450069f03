import { soldOperation } from '../define-operation.ts';
import type { Services } from '../call.ts';
import { z } from 'zod';
import type { SearchConfig } from './search-settings.ts';
import { isJsonObject, type JsonObject } from '../../kit/json.ts';
import { longestCategory } from '../../leads/query/check-lead.ts';
import { leadSchema, type LeadQuery, type Leads } from '../../leads/lead-source.ts';
import { isLongCategory } from '../../leads/query/lead-filters.ts';
import { queryProblem, type QueryProblem } from '../../leads/query/search-terms.ts';
import { isSynthetic } from '../../leads/synthetic/synthetic-mark.ts';
import { nanoPerUsd, type Nano } from '../../kit/money.ts';
import { countryNamed, isCountryCode } from '../../leads/query/country-names.ts';
import { invalidQuery } from '../validate.ts';
import { cutTable, foundText, toLeadsTable } from './leads-text.ts';
import type { AnswerSale, BalanceAnswerSale } from '../sale.ts';
import { soldFromBalance } from '../prepaid-answer.ts';

const form = /^(\d{1,15}):([^\0]{1,200})$/;

/** Reads a cursor, `FOLLOWERS:USERNAME` of the last result of the page before. */
const searchCursor = z.string().transform((text, context) => {
  const [, followers, username] = form.exec(text) ?? [];
  if (username !== undefined) return { followers: Number(followers), username };
  context.addIssue('must be FOLLOWERS:USERNAME of the last result, such as 48200:coffee.with.ana');
  return z.NEVER;
});

const defaultLimit = 20;
const countryCode = z
  .string()
  // Some letters that are not ASCII become two by upper case.
  .transform((value) => (/^[A-Za-z]{2}$/.test(value) ? value.toUpperCase() : value))
  .refine(isCountryCode, { error: ({ input }) => countryText(String(input)) });
const followers = z
  .int({
    error: ({ code }) =>
      code === 'invalid_type' ? 'must be a whole number in digits, such as 10000' : undefined,
  })
  .min(0);
const largestMinimum = 1_000_000_000;
const text = (longest: number) =>
  z
    .string()
    .max(longest)
    .transform((value) => value.trim())
    .transform((value) => (value === '' ? undefined : value));

/** Models write null for fields that they leave out, and some an empty text. */
const leftOut = (value: unknown): unknown => (value === null || value === '' ? undefined : value);
/** Some also write numbers as texts. */
const asNumber = (value: unknown): unknown =>
  typeof value === 'string' && /^[0-9]+$/.test(value) ? Number(value) : leftOut(value);

const optional = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess(leftOut, schema.optional()).optional();
const optionalNumber = (schema: z.ZodInt) => z.preprocess(asNumber, schema.optional()).optional();

const createInput = (maxLimit: number) =>
  z
    .object({
      query: optional(text(200)).describe(
        'A few words. Each must be in username, name, category or bio, whole or by its beginning (3+ letters).',
      ),
      country: optional(text(100).pipe(countryCode.optional())).describe(
        '2-letter ISO country code, e.g. US, GB.',
      ),
      category: optional(text(longestCategory)).describe(
        'Whole category name, in any case: Beauty, Fitness, Tech, Food, Travel, Fashion... Business accounts only.',
      ),
      gender: optional(z.enum(['male', 'female'])).describe('Predicted; leaves out profiles without one.'),
      min_followers: optionalNumber(followers.max(largestMinimum)).describe('Inclusive.'),
      max_followers: optionalNumber(followers).describe('Inclusive.'),
      limit: z
        .preprocess(asNumber, z.int().min(1).max(maxLimit).default(defaultLimit))
        .default(defaultLimit)
        .describe('Most results; the price may depend on it.'),
      count_only: z
        .preprocess(asBoolean, z.boolean().optional())
        .optional()
        .describe('true: free, tells only how many match (`matches`).'),
      cursor: optional(searchCursor).describe('Next page: last FOLLOWERS:USERNAME.'),
    })
    .superRefine(addProblems, { when: ({ value }) => isJsonObject(value) });

/** Names what is wrong beside the form of each field, also where others, of any type then, have a wrong form. */
const addProblems = (request: Record<string, unknown>, context: z.RefinementCtx): void => {
  const { query, category, min_followers: least, max_followers: most } = request;
  const named = new Set(context.issues.map(({ path }) => path?.[0]));
  const add = (field: string, message: string): void =>
    context.addIssue({ code: 'custom', path: [field], message });
  // A text that is too long may be very long.
  const problem = typeof query === 'string' && !named.has('query') ? queryProblem(query) : null;
  if (problem !== null) add('query', queryProblems[problem]);
  if (typeof category === 'string' && !named.has('category') && isLongCategory(category))
    add('category', 'must be shorter: in lower case it has more than 1,000 bytes');
  if (typeof least === 'number' && typeof most === 'number' && least > most && !named.has('min_followers'))
    add('min_followers', 'must not be above max_followers');
  // A count behind an invented cursor would give the profiles away, one by one.
  if (request['count_only'] === true && request['cursor'] !== undefined && !named.has('cursor'))
    add('cursor', 'must be left out with count_only, which counts all matches');
};

/** REST writes it as a text. */
const asBoolean = (value: unknown): unknown =>
  value === 'true' || value === 'false' ? value === 'true' : leftOut(value);

type Input = z.infer<ReturnType<typeof createInput>>;
type SearchSale = AnswerSale<Input, Pick<Services, 'leads'>>;

const name = 'search_leads';

const lead = z.looseObject(leadSchema.shape);

const example = {
  input: { query: 'coffee', country: 'US', limit: 20 },
  output: {
    results: [
      {
        username: 'coffee.with.ana',
        full_name: 'Ana Reyes',
        followers: 48_200,
        following: 310,
        is_verified: false,
        is_business: true,
      },
    ],
    count: 1,
  },
};

const purpose =
  'Finds Instagram influencer profiles by words, category, country, gender and follower range, most followers first.';

/** The search as it is sold under these settings. */
export const createSearchLeads = (search: SearchConfig) => {
  const input = createInput(search.maxLimit);
  return soldOperation<Input, SearchSale | BalanceAnswerSale<Input>>({
    name,
    title: 'Search influencers',
    description:
      `${purpose} Each call is paid with USDC by x402, no account${search.fromBalance ? ', or with a key from its balance' : ''}: ` +
      `${priceInWords(search)}. An unpaid call answers the payment terms. For more tools, ` +
      'a person connects an account at /mcp/account.',
    group: 'search',
    input,
    output: z.looseObject({
      results: z.array(lead),
      count: z.int().describe('Results returned; below limit when fewer match.'),
    }),
    rest: {
      method: 'GET',
      path: '/v1/search',
      query: Object.keys(input.shape),
      validation: 'detail',
      errors: ['upstream_error'],
    },
    tool: {
      view: 'leads',
      ...(search.fromBalance
        ? { inDirectory: `${purpose} Charged to the balance of the account: ${priceInWords(search)}.` }
        : {}),
    },
    docs: {
      answer: 'SearchResult',
      examples: [{ summary: 'Coffee in the US, paid', parameters: example.input, answer: example.output }],
      wrong: { gender: 'x' },
    },
    sale: search.fromBalance ? soldFromBalance(name, createSale(search)) : createSale(search),
  });
};

/** The characters of a text. Assistants cut longer results off. */
const maxTextLength = 130_000;
/** Those of the sentences above a table. */
const maxSentencesLength = 500;

const createSale = (search: SearchConfig): SearchSale => ({
  kind: 'answer',
  description: 'Influencer search',
  unit: { one: 'search', many: 'searches' },
  tags: ['influencers', 'leads', 'search'],
  example,
  ratePerMinute: search.ratePerMinute,
  costsMoney: search.costsMoney,

  pricing: search.pricing,
  quote: ({ limit }) => ({
    price: searchPrices[search.pricing](limit),
    formerPrices: Object.fromEntries(
      Object.entries(searchPrices).map(([rule, priceOf]) => [rule, priceOf(limit)]),
    ),
  }),
  priceRange: () => ({
    least: searchPrices[search.pricing](1),
    most: searchPrices[search.pricing](search.maxLimit),
  }),

  look: (request, { leads }, signal) =>
    request.count_only === true ? countMatches(request, leads, signal) : null,

  produce: async (request, { leads }, signal) => {
    const results = await leads.search(toLeadQuery(request), { signal });
    return { results: results.map((result) => ({ ...result })), count: results.length };
  },

  // People who asked to be forgotten after the search are left out.
  replay: async (result, { leads }, signal) => {
    const profiles = profilesOf(result);
    const forgotten = await leads.findForgotten(profiles.map(usernameOf), { signal });
    if (forgotten.size === 0) return result;
    const results = profiles.filter((profile) => !forgotten.has(usernameOf(profile)));
    return { ...result, results, count: results.length };
  },

  toText: (result, { price, last, moreUri }) => {
    const all = profilesOf(result);
    const sentence =
      last === undefined
        ? foundText(all.length, { price, isGenerated: isGenerated(result) ?? false })
        : `The last ${Math.min(last, all.length)} of ${all.length} profiles, which are paid.`;
    if (all.length === 0) return { text: sentence, more: null };
    // Forgotten people may be missing since, so the rows are counted from the end: none that is left is passed over.
    const whole = toLeadsTable(last === undefined ? all : all.slice(-last));
    if (sentence.length + whole.length + 2 <= maxTextLength)
      return { text: `${sentence}\n\n${whole}`, more: null };
    const { table, left } = cutTable(whole, maxTextLength - maxSentencesLength);
    const more = left === 0 ? null : moreUri(left);
    const told =
      more === null ? '' : ` The last ${left} of them are in the resource ${more}, free for a day.`;
    return { text: `${sentence}${told}\n\n${table}`, more };
  },

  // Where there are no profiles at all, nothing was searched.
  isFree: ({ count }, { leads }) => count === 0 && (!search.chargeEmpty || leads.status().profiles === 0),

  isSandbox: ({ leads }, result) =>
    (result === null ? null : isGenerated(result)) ?? leads.status().synthetic,
  sandbox: {
    description: 'Influencer search over generated, fictional profiles',
    goods: 'fictional profiles',
    notice: 'The profiles here are generated and fictional.',
  },
});

/** Whether a result has generated profiles; null for an empty result. */
const isGenerated = ({ results }: JsonObject): boolean | null =>
  Array.isArray(results) && results.length > 0 ? results.some(isSynthetic) : null;

/** The most matches that a free count reports. */
const maxCounted = 100;

/** Counts the matches of a search where it costs the operator nothing. */
const countMatches = async (request: Input, leads: Leads, signal: AbortSignal): Promise<JsonObject> => {
  const { profiles, countsFree } = leads.status();
  if (profiles === null && countsFree !== true)
    throw invalidQuery('count_only', 'is not available here: the profiles are kept by another service');
  const query = { ...toLeadQuery(request), limit: maxCounted + 1 };
  const found = await leads.search(query, { signal, isFree: true });
  return {
    results: [],
    count: 0,
    matches: Math.min(found.length, maxCounted),
    has_more_matches: found.length > maxCounted,
  };
};

const profilesOf = ({ results }: JsonObject): JsonObject[] =>
  Array.isArray(results) ? results.filter(isJsonObject) : [];

const usernameOf = ({ username }: JsonObject): string => (typeof username === 'string' ? username : '');

const countryText = (given: string): string => {
  const code = countryNamed(given);
  if (code !== null) return `must be the 2-letter ISO country code, which is ${code}`;
  const example = 'must be a 2-letter ISO country code such as US or GB';
  return /^[A-Z]{2}$/.test(given) ? `${example}; ${given} is the code of no country` : example;
};

const priceInWords = ({ pricing, chargeEmpty }: SearchConfig): string =>
  (pricing === 'flat'
    ? '$0.50'
    : '$0.10 for up to 20 results, and $0.002 for each result asked for above that') +
  (chargeEmpty ? '' : '; nothing when nobody matches');

const queryProblems: Record<QueryProblem, string> = {
  no_words: 'must contain a letter or a digit',
  too_long: 'must be at most 200 characters',
  too_many_words: 'must have at most 10 words',
  too_many_terms: 'must be shorter: of scripts without spaces, at most 24 pairs of letters are searched',
};

const searchPrices: Record<SearchConfig['pricing'], (limit: number) => Nano> = {
  flat: () => nanoPerUsd / 2n,
  /** $0.10, and $0.002 for each result asked for above 20. */
  dynamic: (limit) => nanoPerUsd / 10n + BigInt(Math.max(0, limit - 20)) * (nanoPerUsd / 500n),
};

const toLeadQuery = ({ cursor: after, max_followers: largest, ...request }: Input): LeadQuery => ({
  ...(request.query === undefined ? {} : { query: request.query }),
  ...(request.country === undefined ? {} : { country: request.country }),
  ...(request.category === undefined ? {} : { category: request.category }),
  ...(request.gender === undefined ? {} : { gender: request.gender }),
  ...(request.min_followers === undefined ? {} : { minFollowers: request.min_followers }),
  ...(largest === undefined && after === undefined
    ? {}
    : { maxFollowers: Math.min(largest ?? Infinity, after?.followers ?? Infinity) }),
  ...(after === undefined ? {} : { after }),
  limit: request.limit,
});
