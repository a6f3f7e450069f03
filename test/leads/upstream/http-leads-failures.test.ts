import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { inspect } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { InconclusiveError } from '../../../src/leads/search-errors.ts';
import type { LeadSource } from '../../../src/leads/lead-source.ts';
import { createRecordedLog } from '../../limits/recorded-log.ts';
import { buildLead } from '../build-lead.ts';
import { startStubService, type StubAnswer, type StubService } from './stub-service.ts';
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

describe('a short page of as many rows as were asked for', () => {
  const parameters = { q: '{query}', most: '{max_followers}', size: '{limit}' };
  const answerOf = (all: readonly object[]): void =>
    service.answer(({ url }) => ({
      kind: 'json',
      value: all.slice(0, Number(url.searchParams.get('size'))),
    }));

  it('is not taken for the last one where the service is not told of the page before', async () => {
    const equal = Array.from({ length: 60 }, (_, place) =>
      buildLead({ username: `u${10 + place}`, followers: 5 }),
    );
    const page = (settings: object) =>
      search(open({ parameters: { ...parameters, ...settings } }), {
        limit: 30,
        maxFollowers: 5,
        after: { followers: 5, username: 'u39' },
      });
    answerOf(equal);
    expect(await failureOf(page({}))).toBeInstanceOf(InconclusiveError);
    answerOf(equal.slice(0, 49));
    expect(await page({})).toHaveLength(19);
    answerOf(equal.slice(30, 49));
    expect(await page({ behind: '{after}' })).toHaveLength(19);
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
