import type { Services } from '../call.ts';
import { z } from 'zod';
import type { JsonObject } from '../../kit/json.ts';
import type { LeadFacets, LeadStatus } from '../../leads/lead-source.ts';
import { jsonAnswer } from '../answer.ts';
import type { Operation } from '../definition.ts';
import type { OpenSale } from '../sale.ts';
import { isCountryCode } from '../../leads/query/country-names.ts';

const profiles = z.int().describe('About how many profiles; rounded down.');

const output = z.looseObject({
  countries: z.array(z.looseObject({ country: z.string(), profiles })),
  categories: z.array(z.looseObject({ category: z.string(), profiles })),
  reason: z.string().optional().describe('Why the lists are empty.'),
});

export const getSearchFacets: Operation<unknown, OpenSale<unknown, Pick<Services, 'leads'>>> = {
  name: 'get_search_facets',
  title: 'Countries and categories to search for',
  description:
    'The values of `country` and `category` that profiles have, with about how many profiles have each: all countries ' +
    'and the 100 most frequent categories, the most frequent first. Those of fewer than 10 profiles are left out. Free, ' +
    'without a key; it counts as a call of search_leads against the limit of the address.',
  group: 'search',
  input: z.object({}),
  output,
  sale: {
    kind: 'open',
    countedWith: 'search_leads',
    handle: (_input, _call, { leads }) => {
      const { facets, ...status } = leads.status();
      const answer =
        facets === undefined
          ? jsonAnswer({ countries: [], categories: [], reason: reasonOf(status) })
          : jsonAnswer(answerOf(facets), { headers: { 'cache-control': `public, max-age=${keptSeconds}` } });
      return Promise.resolve({ ...answer, isSandbox: status.synthetic });
    },
  },
  tool: null,
  resource: { path: 'search/facets', name: 'search-facets', title: 'Countries and categories to search for' },
  rest: { method: 'GET', path: '/v1/search/facets', query: [], validation: 'envelope', errors: [] },
  docs: {
    answer: 'SearchFacets',
    description: null,
    wrong: null,
    headers: {},
    examples: [
      {
        summary: 'The most frequent first',
        status: 200,
        answer: {
          countries: [
            { country: 'US', profiles: 310_000 },
            { country: 'BR', profiles: 92_000 },
          ],
          categories: [{ category: 'beauty', profiles: 48_000 }],
        },
      },
    ],
    mayBeSandbox: true,
  },
};

const keptSeconds = 60;

/** By the facets, which are one object for each revision. */
const answers = new WeakMap<LeadFacets, JsonObject>();

const answerOf = (facets: LeadFacets): JsonObject => {
  const answer =
    answers.get(facets) ??
    Object.freeze({
      countries: facets.countries
        .filter(({ value }) => isCountryCode(value))
        .map(({ value, profiles }) => ({ country: value, profiles })),
      categories: facets.categories.map(({ value, profiles }) => ({ category: value, profiles })),
    });
  answers.set(facets, answer);
  return answer;
};

const reasonOf = ({ profiles, ready }: LeadStatus): string => {
  if (profiles === null) return 'Another service has the profiles, and it does not tell.';
  return ready ? 'There are no profiles.' : 'The profiles are being prepared. Try again in a moment.';
};
