import { expectError, expectHeader, expectThat } from '../assertions.ts';
import type { Check } from '../check.ts';
import { createPaths, noUuid } from '../fixtures.ts';

export const errorChecks: readonly Check[] = [
  {
    id: 'ERR-1',
    title: 'an address where nothing is answers 404 in the envelope',
    run: async (suite) => {
      for (const path of ['/v1/nothing', '/v1', `/v1/jobs/${noUuid}/more`])
        expectError(await suite.call(path), {
          status: 404,
          code: 'not_found',
          type: 'invalid_request_error',
        });
    },
  },
  {
    id: 'ERR-2',
    title: 'a method that a path does not take is 405 with Allow',
    run: async (suite) => {
      for (const [path, method] of [
        ['/v1/balance', 'POST'],
        ['/v1/models', 'DELETE'],
        ['/v1/chat/completions', 'GET'],
        ['/openapi.json', 'POST'],
      ] as const) {
        const answer = await suite.call(path, { method });
        expectError(answer, { status: 405, code: 'method_not_allowed' });
        expectHeader(answer, 'allow');
      }
    },
  },
  {
    id: 'ERR-3',
    title: 'a body that is not JSON is 400 invalid_json',
    run: async (suite) => {
      for (const path of createPaths(suite))
        for (const body of ['', '{"model":', 'hello'])
          expectError(await suite.call(path, { method: 'POST', body }), {
            status: 400,
            code: 'invalid_json',
          });
    },
  },
  {
    id: 'ERR-4',
    title: 'a body that is JSON but not an object is 422',
    run: async (suite) => {
      for (const path of createPaths(suite))
        for (const body of ['[]', '7', '"x"', 'null'])
          expectError(await suite.call(path, { method: 'POST', body }), {
            status: 422,
            code: 'invalid_parameter',
            hasDetail: /chat|responses/.test(path),
          });
    },
  },
  {
    id: 'ERR-5',
    title: 'every answer carries an X-Request-Id of its own',
    run: async (suite) => {
      const answers = await Promise.all(
        ['/v1/balance', '/v1/models', '/v1/nothing', '/openapi.json', '/v1/search?limit=0'].map((path) =>
          suite.call(path),
        ),
      );
      const ids = answers.map((answer) => expectHeader(answer, 'x-request-id'));
      expectThat(new Set(ids).size === ids.length, 'two answers share a request id');
    },
  },
  {
    id: 'ERR-6',
    title: "answers with an account's data tell caches not to store them",
    run: async (suite) => {
      for (const path of [
        '/v1/balance',
        '/v1/usage',
        '/v1/models',
        '/v1/jobs',
        '/v1/transactions',
        `/v1/jobs/${noUuid}`,
      ])
        expectHeader(await suite.call(path), 'cache-control', /no-store|private/);
    },
  },
];
