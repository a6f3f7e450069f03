import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import { InconclusiveError } from '../../../src/leads/search-errors.ts';
import type { Lead, LeadQuery, LeadSource } from '../../../src/leads/lead-source.ts';
import { createHttpLeads } from '../../../src/leads/upstream/http-leads.ts';
import { silentLog, type Log } from '../../../src/kit/log.ts';
import { createRecordedLog } from '../../limits/recorded-log.ts';
import { buildLead } from '../build-lead.ts';
import { readHttpSettings } from './read-http-settings.ts';
import { startStubService, type StubAnswer, type StubService } from './stub-service.ts';

let service: StubService;
let opened: LeadSource[];

beforeEach(async () => {
  service = await startStubService({ kind: 'json', value: [] });
  opened = [];
});

afterEach(async () => {
  for (const leads of opened) await leads.close();
  await service.close();
});

interface OpenOptions {
  environment?: Record<string, string>;
  log?: Log;
}

const open = (settings: Record<string, unknown> = {}, { environment, log }: OpenOptions = {}): LeadSource => {
  const config = readHttpSettings({ url: `${service.origin}/find`, ...settings }, environment);
  const leads = createHttpLeads(config, { log: log ?? silentLog });
  opened.push(leads);
  return leads;
};

const search = (
  leads: LeadSource,
  query: Partial<LeadQuery> = {},
  signal = new AbortController().signal,
): Promise<Lead[]> => leads.search({ limit: 20, ...query }, { signal });

const namesOf = (leads: readonly Lead[]): string[] => leads.map(({ username }) => username);

const failureOf = async (searching: Promise<unknown>): Promise<AppError> => {
  const error: unknown = await searching.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AppError)) throw new Error(`no AppError: ${inspect(error)}`);
  return error;
};

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

describe('rows in which nothing matches', () => {
  const parameters = { q: '{query}', size: '{limit}' };
  const french = buildLead({ country: 'FR' });

  it.each<[string, unknown[], object]>([
    ['as they do not have the field of a filter', [buildLead()], {}],
    ['beside rows that are no profiles', [french, { ...french, followers: 'many' }], {}],
    ['and of which there are as many as were asked for', [french], { filtered_rows: 1 }],
    ['and of which there are more than are read', [french, french], { max_rows: 1 }],
    ['of a service that is not told how many to answer', [french], { parameters: { q: '{query}' } }],
  ])('%s are no empty result, as others might match', async (_, value, settings) => {
    service.answer({ kind: 'json', value });
    const searching = search(open({ parameters, ...settings }), { country: 'US', limit: 1 });
    expect(await failureOf(searching)).toBeInstanceOf(InconclusiveError);
  });

  it('for want of a field say which filter to leave out', async () => {
    service.answer({ kind: 'json', value: [buildLead()] });
    expect((await failureOf(search(open(), { gender: 'female' }))).message).toBe(
      'The data source does not tell the gender of its profiles now. Search without gender, or try again later.',
    );
  });

  it('for want of a field time after time are not asked for again, until the field is there', async () => {
    const answer = (fields: object): void =>
      service.answer({
        kind: 'json',
        value: Array.from({ length: 10 }, (_, place) => buildLead({ username: `u${place}`, ...fields })),
      });
    const leads = open();
    answer({});
    for (let time = 0; time < 5; time += 1)
      await failureOf(search(leads, { query: `time ${time}`, gender: 'male' }));
    expect(service.requests).toHaveLength(3);
    answer({ gender: 'male' });
    expect(await search(leads)).toHaveLength(10);
    expect(await search(leads, { gender: 'male' })).toHaveLength(10);
  });

  it('for want of a field that is not taken are never asked for', async () => {
    await failureOf(search(open({ fields: { country: null } }), { country: 'US' }));
    expect(service.requests).toHaveLength(0);
  });
});

const badStatuses = [204, 302, 400, 401, 402, 403, 404, 408, 429, 500, 503];
const badAnswers: [string, StubAnswer][] = [
  ...badStatuses.map((status): [string, StubAnswer] => [
    `status ${status}`,
    status === 204 ? { kind: 'bytes', status, bytes: '' } : { kind: 'json', status, value: [buildLead()] },
  ]),
  ['a page', { kind: 'bytes', bytes: '<!doctype html><h1>Sign in</h1>' }],
  ['half of a JSON text', { kind: 'bytes', bytes: '[{"username":"a","followers":1}' }],
  [
    'letters of another encoding',
    { kind: 'bytes', bytes: '[]', headers: { 'content-type': 'application/json; charset=ISO-8859-1' } },
  ],
  ['nothing', { kind: 'bytes', bytes: '' }],
  ['no list', { kind: 'json', value: { results: [] } }],
  ['null', { kind: 'json', value: null }],
  ['only rows that are no profiles', { kind: 'json', value: [{ error: 'quota' }, {}] }],
  ['more bytes than allowed, said at once', { kind: 'json', value: ['x'.repeat(3_000)] }],
  ['bytes without end', { kind: 'endless' }],
  ['bytes that are compressed', { kind: 'bytes', bytes: Buffer.from('1f8b08000000', 'hex') }],
  ['a reset before the answer', { kind: 'reset' }],
  ['a reset in the answer', { kind: 'reset', after: '[{"username":' }],
  ['silence', { kind: 'silence' }],
  ['silence in the answer', { kind: 'silence', after: '[{"username":' }],
];

describe('an HTTP service that answers badly', () => {
  it.each(badAnswers)(
    'with %s is a failure, never an empty result, and tells no secret',
    async (_, answer) => {
      service.answer(answer);
      const leads = open(
        { headers: { 'x-key': '${LEAD_KEY}' }, timeout_ms: 300, max_response_bytes: 2_048 },
        { environment: { LEAD_KEY: 'topsecret' } },
      );
      const error = await failureOf(search(leads, { query: 'yoga' }));
      expect(error).toMatchObject({ code: 'upstream_error', status: 502 });
      expect(error.retryAfterSeconds).toBeGreaterThan(0);
      expect(error.message).not.toMatch(/127\.0\.0\.1|quota|status/);
      expect(inspect(error, { depth: 10 })).not.toContain('topsecret');
    },
  );

  it.each([400, 401, 402, 403, 404, 410, 413, 414, 422, 429, 451, 500, 503])(
    'with status %i is a temporary failure to whoever searches; some speak of the search, not of the service',
    async (status) => {
      service.answer({ kind: 'json', status, value: {} });
      const failure = await failureOf(search(open()));
      expect(failure).toMatchObject({
        code: 'upstream_error',
        status: 502,
        message: 'The data source is temporarily unavailable. Try again.',
      });
      expect(failure instanceof InconclusiveError).toBe([400, 413, 414, 422].includes(status));
    },
  );

  it('with rows that lack a required field sells none of them, unless a default is named for it', async () => {
    const { following: _following, is_verified: _verified, ...sparse } = buildLead({ username: 'sparse' });
    const whole = buildLead({ username: 'whole', full_name: '' });
    service.answer({ kind: 'json', value: [sparse, whole] });
    const { log, lines } = createRecordedLog();
    expect(await search(open({}, { log }))).toEqual([whole]);
    expect(lines).toContainEqual(
      expect.objectContaining({
        refused: 1,
        firstProblem: 'following is missing; map it by fields, or name it in defaults',
      }),
    );
    const defaults = { following: 0, is_verified: false };
    expect(await search(open({ defaults }))).toEqual([{ ...sparse, ...defaults }, whole]);
    service.answer({ kind: 'json', value: [sparse] });
    expect(await failureOf(search(open()))).toMatchObject({ status: 502 });
  });

  it('with a redirect is not followed', async () => {
    const other = await startStubService({ kind: 'json', value: [buildLead()] });
    service.answer({ kind: 'bytes', status: 307, bytes: '', headers: { location: `${other.origin}/` } });
    await failureOf(search(open()));
    expect(other.requests).toHaveLength(0);
    await other.close();
  });

  it('and asks for a wait passes it on, up to five minutes', async () => {
    const busy = (seconds: string): StubAnswer => ({
      kind: 'json',
      status: 429,
      value: {},
      headers: { 'retry-after': seconds },
    });
    const leads = open();
    const waits: unknown[] = [];
    for (const seconds of ['17', '86400', '0', 'Sat, 21 Nov 2026 22:15:00 GMT']) {
      service.answer(busy(seconds));
      waits.push((await failureOf(search(leads))).retryAfterSeconds);
    }
    expect(waits).toEqual([17, 300, 1, 5]);
  });

  it('by not being there is a failure too', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    expect(await failureOf(search(open({ url: `http://127.0.0.1:${port}/` })))).toMatchObject({
      status: 502,
    });
  });
});

describe('a searcher who goes away', () => {
  it.each<StubAnswer>([{ kind: 'silence' }, { kind: 'silence', after: '[' }])(
    'ends the call to the service (%j)',
    async (answer) => {
      service.answer(answer);
      const leaver = new AbortController();
      const searching = search(open(), {}, leaver.signal);
      await expect.poll(() => service.requests.length).toBe(1);
      leaver.abort(new Error('gone'));
      await expect(searching).rejects.toThrow('gone');
      await expect(service.requests[0]?.closed).resolves.toBeUndefined();
    },
  );

  it('before the call makes none', async () => {
    await expect(search(open(), {}, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(service.requests).toHaveLength(0);
  });
});

describe('the state of an HTTP source', () => {
  it('is another revision with other settings, and tells nothing of their secrets', () => {
    const revisionWith = (path: string, key: string): string =>
      open(
        { url: `${service.origin}${path}`, headers: { 'x-key': '${LEAD_KEY}' } },
        { environment: { LEAD_KEY: key } },
      ).status().revision;
    expect(revisionWith('/a', 'one')).not.toBe(revisionWith('/b', 'one'));
    expect(revisionWith('/a', 'one')).toBe(revisionWith('/a', 'two'));
    expect(open().status()).toMatchObject({ ready: true, synthetic: false, profiles: null });
  });

  it('has no facets while the service does not tell them, which the log says, and searches go on', async () => {
    const { log, lines } = createRecordedLog();
    service.answer(({ url: { pathname } }) =>
      pathname === '/count'
        ? { kind: 'json', value: { aggregations: { countries: { buckets: [] } } } }
        : { kind: 'json', value: [buildLead({ username: 'ann' })] },
    );
    const sent = Object.fromEntries(
      ['query', 'country', 'category', 'gender', 'min_followers', 'max_followers', 'limit'].map((field) => [
        field,
        `{${field}}`,
      ]),
    );
    const leads = open(
      { parameters: sent, counts: 'free', facets: { url: `${service.origin}/count`, body: { size: 0 } } },
      { log },
    );
    await expect.poll(() => lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ msg: 'reading the facets of leads.http failed' });
    expect(service.requests[0]).toMatchObject({ method: 'POST', body: { size: 0 } });
    expect(leads.status().facets).toBeUndefined();
    expect(namesOf(await search(leads))).toEqual(['ann']);
  });
});
