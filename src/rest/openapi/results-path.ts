import { headersOf, mediumHeaders, rangeParameter, unsatisfiableHeaders } from './headers.ts';
import { lostContent } from '../../operations/operation-docs.ts';
import { errorTexts } from './error-texts.ts';
import { contentResponses, plainErrors } from './responses.ts';

const types = ['image/png', 'image/jpeg', 'image/webp'];

/** Returns the path item of `/results/{name}`, the bytes behind a result URL. */
export const resultsPath = (): object => {
  const { range_not_satisfiable, server_error, upstream_unavailable, overloaded } = errorTexts;
  const headers = headersOf(['X-Request-Id', 'Cache-Control', ...mediumHeaders, 'Content-Security-Policy']);
  return {
    get: {
      operationId: 'get_result',
      summary: 'Download a result',
      description:
        'The bytes of an image, by the URL in its job. The address cannot be guessed and needs no key; it can be shown ' +
        'to people. It answers 410 once the result was kept for its time.',
      tags: ['generation'],
      security: [],
      parameters: [
        {
          name: 'name',
          in: 'path',
          required: true,
          description: 'The last part of the result URL.',
          schema: { type: 'string' },
          example: '4fJq0mS2xYw8bT6uVn3kRzPc1LhGdEaW5iQoXyZ7BtN.png',
        },
        rangeParameter,
      ],
      responses: {
        ...contentResponses(types, headers, 'The picture.'),
        ...plainErrors(
          {
            not_found: { when: 'There is no such result.', message: 'There is no result at this address.' },
            content_expired: {
              when: 'The bytes were kept for their time and are gone.',
              message: 'This result was kept for its time and is gone. Make it again.',
            },
            range_not_satisfiable,
            server_error,
            upstream_error: lostContent,
            upstream_unavailable,
            overloaded,
          },
          { 416: unsatisfiableHeaders, 503: ['Retry-After'] },
        ),
      },
    },
  };
};
