import { expectError, expectThat } from '../assertions.ts';
import type { Check } from '../check.ts';
import { createPaths, noUuid } from '../fixtures.ts';
import type { Suite } from '../suite.ts';

const gets = [
  '/v1/balance',
  '/v1/usage',
  '/v1/jobs',
  '/v1/transactions',
  '/v1/models',
  '/v1/models/any',
  `/v1/jobs/${noUuid}`,
  `/v1/responses/resp_${noUuid}`,
];
const videoGets = [`/v1/videos/${noUuid}`, `/v1/videos/${noUuid}/content`];

const unauthorized = { status: 401, code: 'invalid_api_key', type: 'authentication_error' };

const expectUnauthorized = async (suite: Suite, key: string | null, headers?: Record<string, string>) => {
  for (const path of [...gets, ...(suite.serves.videos ? videoGets : [])])
    expectError(await suite.call(path, { key, ...(headers === undefined ? {} : { headers }) }), unauthorized);
  for (const path of createPaths(suite))
    expectError(
      await suite.call(path, { key, body: {}, ...(headers === undefined ? {} : { headers }) }),
      unauthorized,
    );
};

export const authenticationChecks: readonly Check[] = [
  {
    id: 'KEY-1',
    title: 'without a key every endpoint answers 401 invalid_api_key',
    run: (suite) => expectUnauthorized(suite, null),
  },
  {
    id: 'KEY-2',
    title: 'a wrong key is 401 too',
    run: (suite) =>
      expectUnauthorized(suite, `${suite.settings.apiKey.replace(/_[^_]*$/, '')}_${'A'.repeat(43)}`),
  },
  {
    id: 'KEY-3',
    title: 'only the bearer scheme counts',
    run: async (suite) => {
      for (const authorization of [
        suite.settings.apiKey,
        `Basic ${Buffer.from(`${suite.settings.apiKey}:`).toString('base64')}`,
        'Bearer',
        'Bearer two words',
      ])
        expectError(await suite.call('/v1/balance', { key: null, headers: { authorization } }), unauthorized);
    },
  },
  {
    id: 'KEY-4',
    title: 'keys begin with sk_<service>_',
    run: async (suite) => {
      const keys = [suite.settings.apiKey, suite.settings.otherKey, suite.settings.poorKey];
      expectThat(
        keys.every((key) => key === null || /^sk_[a-z0-9-]+_[^_]+$/.test(key)),
        'a key has a wrong form',
      );
    },
  },
  {
    id: 'KEY-5',
    title: 'the key is checked before the body is read',
    run: async (suite) => {
      for (const path of createPaths(suite))
        expectError(await suite.call(path, { key: null, body: '{"broken' }), unauthorized);
    },
  },
];
