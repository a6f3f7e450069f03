import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { LeadQuery, LeadSource } from '../../../src/leads/lead-source.ts';
import { createRecordedLog } from '../../limits/recorded-log.ts';
import { buildLead } from '../build-lead.ts';
import { startStubService, type StubService } from './stub-service.ts';
import { failureOf, namesOf, openHttpLeads, search } from './open-http-leads.ts';

let service: StubService;

beforeEach(async () => {
  service = await startStubService({ kind: 'json', value: [] });
  onTestFinished(() => service.close());
});

const open = (
  settings: Record<string, unknown> = {},
  options: Parameters<typeof openHttpLeads>[2] = {},
): LeadSource => openHttpLeads(service, settings, options);

const everything: LeadQuery = {
  query: 'café & crème',
  country: 'DE',
  category: 'Food',
  gender: 'female',
  minFollowers: 0,
  maxFollowers: 5_000,
  limit: 7,
};

describe('a request to an HTTP service', () => {
  const parameters = {
    q: '{query}',
    country: '{country}',
    kind: '{category}',
    sex: '{gender}',
    range: '{min_followers}-{max_followers}',
    size: '{limit}',
    format: 'json',
    page: 1,
  };

  it('carries the search in the parameters that are configured, behind those of the address', async () => {
    const leads = open({ url: `${service.origin}/find?v=2`, parameters });
    await search(leads, everything);
    const [request] = service.requests;
    expect(request?.method).toBe('GET');
    expect(request?.url.pathname).toBe('/find');
    expect([...(request?.url.searchParams ?? [])]).toEqual([
      ['v', '2'],
      ['q', 'café & crème'],
      ['country', 'DE'],
      ['kind', 'Food'],
      ['sex', 'female'],
      ['range', '0-5000'],
      ['size', '7'],
      ['format', 'json'],
      ['page', '1'],
    ]);
  });

  it('leaves a parameter out whose field the search does not have', async () => {
    await search(open({ parameters }), { country: 'DE', limit: 3 });
    expect([...(service.requests[0]?.url.searchParams ?? [])]).toEqual([
      ['country', 'DE'],
      ['size', '3'],
      ['format', 'json'],
      ['page', '1'],
    ]);
  });

  it('asks for more where the service is not told of a filter, which most rows do not pass then', async () => {
    const sizeOf = async (settings: object, query: Partial<LeadQuery>): Promise<unknown> => {
      await search(open({ parameters, ...settings }), { limit: 30, ...query });
      return service.requests.at(-1)?.url.searchParams.get('size');
    };
    const untold = { minFollowers: 10 };
    expect(await sizeOf({}, { country: 'DE' })).toBe('30');
    expect(await sizeOf({}, untold)).toBe('100');
    expect(await sizeOf({ filtered_rows: 60 }, untold)).toBe('60');
    expect(await sizeOf({ filtered_rows: 1 }, untold)).toBe('30');
  });

  it('carries the search in a JSON body, numbers as numbers, and leaves absent fields out', async () => {
    const body = {
      text: '{query}',
      filters: {
        min: '{min_followers}',
        max: '{max_followers}',
        tags: ['{gender}', 'influencer', '{country}'],
      },
      size: '{limit}',
      strict: true,
      note: 'for {query}',
    };
    await search(open({ body }), { query: '"quoted" {limit}', country: 'US', maxFollowers: 9 });
    const [request] = service.requests;
    expect(request?.method).toBe('POST');
    expect(request?.headers['content-type']).toBe('application/json');
    expect(request?.body).toEqual({
      text: '"quoted" {limit}',
      filters: { max: 9, tags: ['influencer', 'US'] },
      size: 20,
      strict: true,
      note: 'for  quoted  {limit}',
    });
  });

  it('carries the words and filters as they are compared, and the last profile of the page before', async () => {
    const after = { followers: 70, username: 'top' };
    const query = { query: 'CAFÉ & café 東京都 ab', country: 'UK', category: 'CAFÉ', after, limit: 5 };
    const text = {
      q: '{terms}',
      kind: '{category_key}',
      where: '{country}',
      behind: '{after}',
      n: '{limit}',
    };
    await search(open({ parameters: text, filtered_rows: 1 }), query);
    expect(Object.fromEntries(service.requests.at(-1)?.url.searchParams ?? [])).toEqual({
      q: 'cafe 東京 京都 ab',
      kind: 'café',
      where: 'GB',
      behind: '70:top',
      n: '5',
    });
    await search(open({ body: { all: ['{terms}', '{after}'] } }), query);
    expect(service.requests.at(-1)?.body).toEqual({
      all: [
        [
          { match: 'prefix', text: 'cafe' },
          { match: 'term', text: '東京' },
          { match: 'term', text: '京都' },
          { match: 'term', text: 'ab' },
        ],
        after,
      ],
    });
  });

  it('asks for the rows that come again where the service is not told of the page before', async () => {
    const after = { followers: 70, username: 'top' };
    await search(open({ parameters: { q: '{query}', n: '{limit}' } }), { query: 'tea', after, limit: 5 });
    expect(service.requests.at(-1)?.url.searchParams.get('n')).toBe('25');
  });

  it('lets nobody end a quoted text of a query language', async () => {
    const body = { query: '{ find(text: "{query}", kind: "{category}") { name } }' };
    const sent = async (query: Partial<LeadQuery>): Promise<unknown> => {
      await search(open({ body: { variables: { q: '{query}' }, ...body } }), query);
      return service.requests.at(-1)?.body;
    };
    const hostile = 'x", kind: "") { password } } #\\\n\u2028`\'';
    expect(await sent({ query: hostile, category: 'Food & Drink' })).toEqual({
      variables: { q: hostile },
      query: '{ find(text: "x , kind:   ) { password } } #     ", kind: "Food & Drink") { name } }',
    });
    // Another category would be searched for; what comes is filtered.
    expect(await sent({ query: 'tea', category: 'a"b' })).toEqual({ variables: { q: 'tea' } });
  });

  it('carries secrets of the environment in its headers, and never asks for compression', async () => {
    const leads = open(
      { headers: { Authorization: 'Bearer ${LEAD_KEY}', 'X-Team': 'a' } },
      { environment: { LEAD_KEY: '{query}-s3cret' } },
    );
    await search(leads, { query: 'yoga' });
    expect(service.requests[0]?.headers).toMatchObject({
      authorization: 'Bearer {query}-s3cret',
      'x-team': 'a',
      'accept-encoding': 'identity',
    });
  });
});

describe('the answer of an HTTP service', () => {
  const rows = (value: unknown): void => service.answer({ kind: 'json', value });

  it('is read by its pointers, and by usual names where none is configured', async () => {
    rows({
      data: {
        'a/b': [
          {
            owner: { handle: '@mia', stats: [{ count: '1,200' }] },
            fullName: 'Mia',
            followsCount: 3,
            verified: true,
            isBusinessAccount: false,
            biography: 'Coffee\nfirst',
            gender: null,
            postsCount: 12,
            country: 'se',
          },
        ],
      },
    });
    const leads = open({
      results: '/data/a~1b',
      fields: {
        username: '/owner/handle',
        followers: ['/owner/missing', '/owner/stats/0/count'],
        media_count: null,
      },
    });
    expect(await search(leads)).toEqual([
      {
        username: 'mia',
        full_name: 'Mia',
        followers: 1200,
        following: 3,
        is_verified: true,
        is_business: false,
        bio: 'Coffee\nfirst',
        country: 'SE',
      },
    ]);
  });

  it('is put into our order, each person once, cut to the limit', async () => {
    rows([
      buildLead({ username: 'b', followers: 5 }),
      buildLead({ username: 'low', followers: 1 }),
      buildLead({ username: 'a', followers: 5 }),
      buildLead({ username: 'A', followers: 900 }),
      buildLead({ username: 'top', followers: 70 }),
    ]);
    expect(namesOf(await search(open(), { limit: 3 }))).toEqual(['top', 'a', 'b']);
  });

  it('is filtered once more, whatever the service made of the filters', async () => {
    const fit = { country: 'DE', category: 'FOOD', gender: 'female' as const, followers: 50 };
    rows([
      buildLead({ ...fit, username: 'fits' }),
      buildLead({ ...fit, username: 'elsewhere', country: 'FR' }),
      buildLead({ ...fit, username: 'nowhere', country: undefined as never }),
      buildLead({ ...fit, username: 'other', category: 'Food & Drink' }),
      buildLead({ ...fit, username: 'male', gender: 'male' }),
      buildLead({ ...fit, username: 'small', followers: 9 }),
      buildLead({ ...fit, username: 'large', followers: 101 }),
    ]);
    const query = {
      country: 'DE',
      category: 'Food',
      gender: 'female' as const,
      minFollowers: 10,
      maxFollowers: 100,
    };
    expect(namesOf(await search(open(), query))).toEqual(['fits']);
  });

  it('is trusted with the words of the search, unless they are to be checked', async () => {
    rows([buildLead({ username: 'yogi' }), buildLead({ username: 'cut_bio' })]);
    expect(namesOf(await search(open(), { query: 'yog' }))).toEqual(['cut_bio', 'yogi']);
    expect(namesOf(await search(open({ words: 'check' }), { query: 'yog' }))).toEqual(['yogi']);
  });

  it.each<[Record<string, unknown>, Partial<LeadQuery>]>([
    [{ parameters: { q: '{query} {category}' } }, {}],
    [{ body: { filters: ['{query} in {country}'] } }, {}],
    [{ parameters: { q: '{query} of "{category}"' } }, { category: 'Men"s' }],
  ])('is compared with words that the request could not carry: %j %j', async (settings, filters) => {
    service.answer({
      kind: 'json',
      value: ['tea', 'coffee'].map((bio) => buildLead({ username: bio, bio, ...filters })),
    });
    expect(namesOf(await search(open(settings), { query: 'coffee', ...filters }))).toEqual(['coffee']);
    expect([...(service.requests[0]?.url.searchParams ?? [])]).toEqual([]);
  });

  it('is empty when the service says so', async () => {
    rows({ items: [] });
    expect(await search(open({ results: '/items' }))).toEqual([]);
  });

  it('is empty when none of fewer rows than asked for passes a filter', async () => {
    rows([buildLead({ country: 'FR' })]);
    const parameters = { q: '{query}', size: '{limit}' };
    expect(await search(open({ parameters }), { country: 'DE' })).toEqual([]);
  });

  it('is read with a byte order mark, and with a code of a country beside its name', async () => {
    const row = { ...buildLead(), country: 'Germany', country_code: 'DE' };
    service.answer({ kind: 'bytes', bytes: `\uFEFF${JSON.stringify([row])}` });
    expect(await search(open(), { country: 'DE' })).toEqual([buildLead({ country: 'DE' })]);
  });

  it('that is large is read as a small one is', async () => {
    const many = Array.from({ length: 400 }, (_, place) =>
      buildLead({ username: `u${place}`, followers: place, bio: 'yoga '.repeat(100) }),
    );
    rows([...many, { username: 'refused' }]);
    const leads = open({ words: 'check' });
    expect(namesOf(await search(leads, { query: 'yoga', limit: 2 }))).toEqual(['u399', 'u398']);
    rows({ results: many });
    expect(await failureOf(search(leads, { query: 'yoga' }))).toMatchObject({ status: 502 });
  });

  it('is read no further than the most rows', async () => {
    rows([1, 2, 3].map((followers) => buildLead({ username: `u${followers}`, followers })));
    expect(namesOf(await search(open({ max_rows: 2 })))).toEqual(['u2', 'u1']);
  });

  it('loses the rows that are no profiles, which the log tells once a minute', async () => {
    const { log, lines } = createRecordedLog();
    rows([null, 7, ['x'], buildLead({ username: 'ok' }), { username: 'no_followers' }]);
    const leads = open({}, { log });
    expect(namesOf(await search(leads))).toEqual(['ok']);
    expect(namesOf(await search(leads, { limit: 5 }))).toEqual(['ok']);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ source: 'http', refused: 4, rows: 5 });
  });
});
