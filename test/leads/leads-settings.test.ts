import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { readConfig } from '../../src/config/config.ts';
import { ConfigError } from '../../src/kit/errors.ts';
import { leadsVariables, type LeadsConfig } from '../../src/leads/leads-settings.ts';
import { httpSection } from '../../src/leads/upstream/http-source.ts';

const http = { url: 'https://leads.example/find', parameters: { q: '{query}' } };

const counted = {
  url: http.url,
  body: ['{terms}{country}{category_key}{gender}', '{min_followers}{max_followers}{limit}'],
  counts: 'free',
};

const read = (environment: Record<string, string>, leads?: unknown): LeadsConfig =>
  readConfig(environment, leads === undefined ? null : stringify({ leads })).leads;

describe('the lead sources', () => {
  it('are the embedded index alone without settings', () => {
    expect(read({})).toEqual({
      sources: [{ kind: 'embedded', timeoutMs: 10_000, costsMoney: false }],
      timeoutMs: 10_000,
      cacheMs: 60_000,
    });
  });

  it('are read in their order, each with an equal share of the time unless it has its own', () => {
    const { sources } = read(
      {
        LEADS_SOURCES: 'http, embedded',
        LEADS_TIMEOUT_MS: '15000',
      },
      { http: { ...http, timeout_ms: 15_000 } },
    );
    expect(sources.map(({ kind, timeoutMs }) => [kind, timeoutMs])).toEqual([
      ['http', 15_000],
      ['embedded', 7_500],
    ]);
  });

  it('over HTTP are asked by GET, or by POST where there is a body', () => {
    const methodOf = (more: object): unknown =>
      read({ LEADS_SOURCES: 'http' }, { http: { ...http, ...more } }).sources.map((source) =>
        source.kind === 'http' ? source.method : null,
      );
    expect(methodOf({})).toEqual(['GET']);
    expect(methodOf({ body: { q: '{query}' } })).toEqual(['POST']);
    expect(methodOf({ method: 'POST' })).toEqual(['POST']);
  });

  it('need not send the words where what is found is compared with them', () => {
    const { sources } = read({ LEADS_SOURCES: 'http' }, { http: { url: http.url, words: 'check' } });
    expect(sources).toMatchObject([{ rules: { words: 'check' } }]);
  });

  it('may send the words as they are compared in place of those of the buyer', () => {
    const { sources } = read({ LEADS_SOURCES: 'http' }, { http: { url: http.url, body: ['{terms}'] } });
    expect(sources).toMatchObject([{ rules: { words: 'upstream' } }]);
  });

  it('are asked for as many rows as a search may want where filters are left to us', () => {
    const { sources } = read({ LEADS_SOURCES: 'http', SEARCH_MAX_LIMIT: '50' }, { http });
    expect(sources).toMatchObject([{ filteredRows: 50 }]);
  });

  it('over HTTP may have their key in a variable of any name', () => {
    const key = { LEADS_SOURCES: 'http', LEADS_KEY: 'k' };
    expect(read(key, { http: { ...http, headers: { 'X-Key': 'k=${LEADS_KEY}' } } }).sources).toMatchObject([
      { headers: { 'x-key': 'k=k' } },
    ]);
    expect(() => read(key, { http })).toThrow(/^LEADS_KEY: there is no such setting/);
  });
});

describe('a wrong setting of the leads', () => {
  const onHttp = { LEADS_SOURCES: 'http', LEAD_KEY: 'topsecret\nx' };

  it.each<[Record<string, string>, unknown, RegExp]>([
    [{ LEADS_SOURCES: 'embedded,mysql' }, undefined, /^LEADS_SOURCES: must be of embedded, http,/],
    [{ LEADS_SOURCES: 'embedded,embedded' }, undefined, /^LEADS_SOURCES: names a source twice$/],
    [{ LEADS_SOURCES: 'embedded,' }, undefined, /^LEADS_SOURCES: must be of /],
    [
      { LEADS_SOURCES: 'http' },
      undefined,
      /^LEADS_SOURCES: names http, and causeway\.yaml has no leads\.http$/,
    ],
    [{ LEADS_SOURCES: 'embedded,apify', APIFY_TOKEN: 'topsecret' }, undefined, /^LEADS_SOURCES: must be of /],
    [{ LEADS_SOURCES: 'postgres', LEADS_DATABASE_URL: 'x' }, undefined, /^LEADS_SOURCES: must be of /],
    [{ LEADS_DATABASE_URL: 'postgres://x' }, undefined, /^LEADS_DATABASE_URL: there is no such setting/],
    [{ LEADS_TIMEOUT_MS: '99' }, undefined, /^LEADS_TIMEOUT_MS: /],
    [{ LEADS_TIMEOUT_MS: '120001' }, undefined, /^LEADS_TIMEOUT_MS: /],
    [
      { LEADS_CACHE_SECONDS: '-1' },
      undefined,
      /^LEADS_CACHE_SECONDS: must be a whole number from 0 to 86400$/,
    ],
    [
      { ...onHttp, LEADS_SOURCE: 'x' },
      { http: { ...http, headers: { 'x-a': 'LEADS_SOURCES' } } },
      /^LEADS_SOURCE: there/,
    ],
    [{ LEADS_SOURCE: 'http' }, undefined, /^LEADS_SOURCE: there is no such setting/],
    [{ SYNTHETIC_PROFILES: '99' }, undefined, /^SYNTHETIC_PROFILES: must be 0, or 100 to 5000000$/],
    [{}, { http }, /^causeway\.yaml: leads\.http: LEADS_SOURCES does not name http$/],
    [{}, { https: http }, /^causeway\.yaml: leads: Unrecognized key/],
    [onHttp, { http: {} }, /^causeway\.yaml: leads\.http\.url: /],
    [onHttp, { http: { url: 'ftp://x' } }, /^causeway\.yaml: leads\.http\.url: must be an http/],
    [
      onHttp,
      { http: { url: 'https://u:topsecret@x.example' } },
      /^causeway\.yaml: leads\.http\.url: must have no user and password; use headers$/,
    ],
    [
      onHttp,
      { http: { url: 'https://x.example/?q={query}' } },
      /^causeway\.yaml: leads\.http\.url: .* use parameters$/,
    ],
    [onHttp, { http: { ...http, method: 'PUT' } }, /^causeway\.yaml: leads\.http\.method: /],
    [
      onHttp,
      { http: { ...http, method: 'GET', body: {} } },
      /^causeway\.yaml: leads\.http\.body: goes with method: POST$/,
    ],
    [
      onHttp,
      { http: { ...http, results: 'items' } },
      /^causeway\.yaml: leads\.http\.results: must be a JSON pointer/,
    ],
    [
      onHttp,
      { http: { ...http, fields: { username: null } } },
      /^causeway\.yaml: leads\.http\.fields: must find username and followers/,
    ],
    [
      onHttp,
      { http: { ...http, fields: { following: null } } },
      /^causeway\.yaml: leads\.http\.fields\.following: no row .* leads\.http\.defaults\.following$/,
    ],
    [
      onHttp,
      { http: { ...http, defaults: { bio: 'x' } } },
      /^causeway\.yaml: leads\.http\.defaults: Unrecognized key/,
    ],
    [
      onHttp,
      { http: { ...http, defaults: { following: -1 } } },
      /^causeway\.yaml: leads\.http\.defaults\.following: /,
    ],
    [
      onHttp,
      { http: { ...http, parameters: { q: 'yoga' }, body: ['{limit}'] } },
      /^causeway\.yaml: leads\.http: \{query\} or \{terms\} must be in parameters or in body, .*words: check$/,
    ],
    [onHttp, { http: { ...http, parameters: { q: '{Query}' } } }, /parameters\.q: there is no \{Query\}; /],
    [onHttp, { http: { ...http, body: { n: '{minFollowers}' } } }, /body\.n: there is no \{minFollowers\}; /],
    [onHttp, { http: { ...http, fields: { name: '/n' } } }, /^causeway\.yaml: leads\.http\.fields: /],
    [onHttp, { http: { ...http, fields: { bio: 'about' } } }, /^causeway\.yaml: leads\.http\.fields\.bio: /],
    [
      onHttp,
      { http: { ...http, parameters: { q: '{words}' } } },
      /^causeway\.yaml: leads\.http\.parameters\.q: there is no \{words\}; there are \{query\}, /,
    ],
    [
      onHttp,
      { http: { ...http, body: { filter: [{ a: '{min}' }] } } },
      /^causeway\.yaml: leads\.http\.body\.filter\.a: there is no \{min\}/,
    ],
    [
      onHttp,
      { http: { ...http, headers: { 'x-key': '${NO_KEY}' } } },
      /^causeway\.yaml: leads\.http\.headers\.x-key: the environment variable NO_KEY is not set$/,
    ],
    [
      onHttp,
      { http: { ...http, headers: { 'x-key': '${LEAD_KEY}' } } },
      /^causeway\.yaml: leads\.http\.headers\.x-key: must be one line/,
    ],
    [
      onHttp,
      { http: { ...http, headers: { 'x-q': '{query}' } } },
      /^causeway\.yaml: leads\.http\.headers\.x-q: cannot hold \{query\}/,
    ],
    [
      onHttp,
      { http: { ...http, headers: { Host: 'x' } } },
      /^causeway\.yaml: leads\.http\.headers\.Host: is set by the gateway itself$/,
    ],
    [
      onHttp,
      { http: { ...http, timeout_ms: 10_001 } },
      /^causeway\.yaml: leads\.http\.timeout_ms: must not be above LEADS_TIMEOUT_MS, which is 10000$/,
    ],
    [
      onHttp,
      { http: { ...http, headers: { 'a b': 'x' } } },
      /^causeway\.yaml: leads\.http\.headers\.a b: is no name of a header$/,
    ],
    [onHttp, { http: { ...http, words: 'ours' } }, /^causeway\.yaml: leads\.http\.words: /],
    [
      onHttp,
      { http: { ...http, counts: 'free' } },
      /^causeway\.yaml: leads\.http\.counts: a service can only count what it is sent; put \{country\} in parameters/,
    ],
    [
      onHttp,
      { http: { ...http, facets: { url: 'https://leads.example/count', body: {} } } },
      /^causeway\.yaml: leads\.http\.facets: goes with counts: free, as nobody pays for it$/,
    ],
    [
      onHttp,
      { http: { ...counted, words: 'check' } },
      /^causeway\.yaml: leads\.http\.counts: .*; leave out words: check$/,
    ],
    [
      onHttp,
      { http: { ...counted, max_rows: 100 } },
      /^causeway\.yaml: leads\.http\.max_rows: must be at least 101 beside counts$/,
    ],
    [
      onHttp,
      { http: { ...http, forget: { url: 'https://x.example' } } },
      /^causeway\.yaml: leads\.http\.forget: needs \{username_key\} in url, or a text \{username_keys\} in body, and not/,
    ],
    [
      onHttp,
      { http: { ...http, forget: { url: 'https://u:topsecret@x.example/{username_key}' } } },
      /^causeway\.yaml: leads\.http\.forget\.url: must have no user and password/,
    ],
    [onHttp, { http: { ...http, nothing: { at: 'error' } } }, /^causeway\.yaml: leads\.http\.nothing\./],
  ])('%j with %j is one line that names it', (environment, leads, line) => {
    const reading = (): unknown => read(environment, leads);
    expect(reading).toThrow(ConfigError);
    expect(reading).toThrow(line);
    expect(reading).not.toThrow(/\n|topsecret/);
  });
});

describe('the lead sources', () => {
  it('describe themselves and each of their settings', () => {
    expect(leadsVariables.LEADS_SOURCES.description).toContain('`http`');
    for (const [name, setting] of Object.entries({ ...leadsVariables, ...httpSection.shape }))
      expect({ [name]: setting.description }).toEqual({ [name]: expect.stringMatching(/^[a-zA-Z`].{9,}/) });
  });
});
