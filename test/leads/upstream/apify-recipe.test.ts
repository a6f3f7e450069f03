import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import { InconclusiveError } from '../../../src/leads/search-errors.ts';
import type { Lead, LeadQuery, LeadSource } from '../../../src/leads/lead-source.ts';
import { createHttpLeads } from '../../../src/leads/upstream/http-leads.ts';
import { readHttpSettings } from './read-http-settings.ts';
import { readHttpRecipe } from './read-recipe.ts';
import { startStubService, type StubService } from './stub-service.ts';

const token = 'apify_api_secret';
/** As Apify's API answers in place of items (docs.apify.com/api/v2). */
const refusals = {
  'invalid-input': [400, 'Input is not valid: Field input.search must match a pattern'],
  'run-failed': [400, 'Actor run did not succeed (run ID: 55uatRrZib4xbZs, status: FAILED)'],
  'token-not-valid': [401, 'Authentication token is not valid.'],
  'not-enough-usage-to-run-paid-actor': [402, 'You have exceeded your usage limit.'],
  'insufficient-permissions': [403, 'Insufficient permissions for the Actor.'],
  'record-not-found': [404, 'Actor was not found'],
  'run-timeout-exceeded': [408, 'Actor run exceeded the timeout of 300 seconds for this API endpoint'],
  'rate-limit-exceeded': [429, 'You have exceeded the rate limit. Please try again later.'],
  'internal-server-error': [500, 'Internal server error'],
} as const;

/** Of apify/instagram-profile-scraper, shortened. */
const item = {
  inputUrl: 'https://www.instagram.com/some.founder',
  id: '21650014',
  username: 'some.founder',
  url: 'https://www.instagram.com/some.founder',
  fullName: 'Some Founder | Coach',
  biography: 'Builds things\n🎙️ Host',
  externalUrl: 'http://www.example.com/',
  followersCount: 127_862,
  followsCount: 998,
  hasChannel: false,
  highlightReelCount: 45,
  isBusinessAccount: true,
  joinedRecently: false,
  businessCategoryName: 'None,Entrepreneur',
  private: false,
  verified: true,
  profilePicUrl: 'https://scontent.example.com/small.jpg',
  profilePicUrlHD: 'https://scontent.example.com/large.jpg',
  igtvVideoCount: 4,
  relatedProfiles: [],
  postsCount: 4_521,
  latestPosts: [{ caption: 'x', likesCount: 1 }],
};

let apify: StubService;
let leads: LeadSource;

const search = (query: Partial<LeadQuery> = {}): Promise<Lead[]> =>
  leads.search({ limit: 20, ...query }, { signal: new AbortController().signal });

beforeEach(async () => {
  apify = await startStubService({ kind: 'json', status: 201, value: [] });
  leads = createHttpLeads(
    readHttpSettings(readHttpRecipe('apify.yaml', apify.origin), {
      APIFY_TOKEN: token,
      LEADS_TIMEOUT_MS: '60000',
    }),
    { log: silentLog },
  );
});

afterEach(async () => {
  await leads.close();
  await apify.close();
});

describe('a run of an actor that the recipe describes', () => {
  it('is asked for with its input and bounds, and with the token in a header alone', async () => {
    await search({ query: 'yoga', country: 'US', limit: 30 });
    const [request] = apify.requests;
    expect(request?.method).toBe('POST');
    expect(request?.url.pathname).toBe('/v2/acts/apify~instagram-search-scraper/run-sync-get-dataset-items');
    expect(request?.headers.authorization).toBe(`Bearer ${token}`);
    expect(request?.url.href).not.toContain(token);
    // A filter that the actor does not know makes it find no more rows, as rows cost money.
    expect(request?.body).toEqual({ search: 'yoga', searchType: 'user', searchLimit: 30 });
    const { fields, ...parameters } = Object.fromEntries(request?.url.searchParams ?? []);
    expect(parameters).toEqual({
      format: 'json',
      limit: '1000',
      maxItems: '30',
      timeout: '50',
      maxTotalChargeUsd: '0.05',
    });
    const asked = fields?.split(',') ?? [];
    expect(asked).toEqual(expect.arrayContaining(['username', 'followersCount', 'biography', 'error']));
    expect(asked).not.toContain('latestPosts');
  });

  it('gives profiles in the form of the contract', async () => {
    apify.answer({ kind: 'json', status: 201, value: [item] });
    expect(await search()).toEqual([
      {
        username: 'some.founder',
        full_name: 'Some Founder | Coach',
        followers: 127_862,
        following: 998,
        is_verified: true,
        is_business: true,
        category: 'Entrepreneur',
        bio: 'Builds things\n🎙️ Host',
        media_count: 4_521,
        profile_pic_url: 'https://scontent.example.com/large.jpg',
      },
    ]);
  });

  it('gives no category where the actor writes None', async () => {
    apify.answer({ kind: 'json', value: [{ ...item, businessCategoryName: 'None' }] });
    expect((await search())[0]).not.toHaveProperty('category');
  });

  it('may find nothing, whether it writes no item or one that says so', async () => {
    const noItems = { error: 'no_items', errorDescription: 'Empty or private data for provided input' };
    const outcomes: unknown[] = [];
    for (const value of [[], [noItems], [{ username: 'x', error: 'not_found' }, noItems]]) {
      apify.answer({ kind: 'json', status: 201, value });
      outcomes.push(await search());
    }
    expect(outcomes).toEqual([[], [], []]);
  });

  it.each(Object.entries(refusals))(
    'that Apify refuses with %s is a failure',
    async (type, [status, message]) => {
      apify.answer({ kind: 'json', status, value: { error: { type, message } } });
      const error: unknown = await search().catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'upstream_error', status: 502 });
      expect(error instanceof InconclusiveError).toBe(status === 400);
      expect(error).toMatchObject({ cause: { message: `status ${status}` } });
      expect(inspect(error, { depth: 10 })).not.toContain(token);
      expect(inspect(error, { depth: 10 })).not.toContain(message);
    },
  );

  it.each([
    ['items that are no profiles', [{ caption: 'a post', likesCount: 3 }]],
    ['an error under a good status', { error: { type: 'run-failed', message: 'x' } }],
  ])('that ends with %s is a failure', async (_, value) => {
    apify.answer({ kind: 'json', status: 201, value });
    await expect(search()).rejects.toMatchObject({ code: 'upstream_error' });
  });
});
