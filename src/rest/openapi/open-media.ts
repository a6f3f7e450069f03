import {
  headersOf,
  mediumHeaders,
  rangeParameter,
  unsatisfiableHeaders,
  type HeaderName,
} from './headers.ts';
import { lostContent, type ErrorText } from '../../operations/operation-docs.ts';
import { errorTexts } from './error-texts.ts';
import { contentResponses, plainErrors } from './responses.ts';

const { range_not_satisfiable, server_error, upstream_unavailable, overloaded } = errorTexts;

/** Describes how anybody downloads a medium by its address. */
const openMediumPath = ({
  description,
  parameter,
  types,
  whole,
  headers,
  headersOfAll,
  refusals,
  ...named
}: {
  operationId: string;
  summary: string;
  description: string;
  parameter: { name: string; description: string; example: string };
  types: readonly string[];
  whole: string;
  /** Those of a success, and those of every answer. */
  headers: readonly HeaderName[];
  headersOfAll: readonly HeaderName[];
  refusals: { not_found: ErrorText; content_expired: ErrorText };
}): object => ({
  get: {
    ...named,
    description: `${description} The address cannot be guessed and needs no key; it can be shown to people.`,
    tags: ['generation'],
    security: [],
    parameters: [{ ...parameter, in: 'path', required: true, schema: { type: 'string' } }, rangeParameter],
    responses: {
      ...contentResponses(
        types,
        headersOf([
          'X-Request-Id',
          'Cache-Control',
          ...mediumHeaders,
          'Content-Security-Policy',
          ...headers,
          ...headersOfAll,
        ]),
        whole,
      ),
      ...plainErrors(
        {
          ...refusals,
          range_not_satisfiable,
          server_error,
          upstream_error: lostContent,
          upstream_unavailable,
          overloaded,
        },
        {
          ...Object.fromEntries([404, 410, 500, 502].map((status) => [status, headersOfAll])),
          416: [...unsatisfiableHeaders, ...headersOfAll],
          503: ['Retry-After', ...headersOfAll],
        },
      ),
    },
  },
});

/** Returns the path item of `/results/{name}`, the bytes behind a result URL. */
export const resultsPath = (): object =>
  openMediumPath({
    operationId: 'get_result',
    summary: 'Download a result',
    description: 'The bytes of an image, by the URL in its job, until it was kept for its time.',
    parameter: {
      name: 'name',
      description: 'The last part of the result URL.',
      example: '4fJq0mS2xYw8bT6uVn3kRzPc1LhGdEaW5iQoXyZ7BtN.png',
    },
    types: ['image/png', 'image/jpeg', 'image/webp'],
    whole: 'The picture.',
    headers: [],
    headersOfAll: [],
    refusals: {
      not_found: { when: 'There is no such result.', message: 'There is no result at this address.' },
      content_expired: {
        when: 'The bytes were kept for their time and are gone.',
        message: 'This result was kept for its time and is gone. Make it again.',
      },
    },
  });

/** Returns the path item of `/films/{token}`, a film that opens in a browser. */
export const filmsPath = (): object =>
  openMediumPath({
    operationId: 'get_film',
    summary: 'Watch a film',
    description:
      'A completed video, by its `film_url`, until 23 hours after completion or until its account is suspended.',
    parameter: {
      name: 'token',
      description: 'The last part of film_url.',
      example: 'TRwrOm5fSnuMnQ4fKjtMXTq8sVxY2mJw7eKcP0aR5tLhZbQnU6oFiDgWvE1yHxN4',
    },
    types: ['video/mp4', 'video/quicktime'],
    whole: 'The film.',
    headers: ['Content-Disposition'],
    headersOfAll: ['Referrer-Policy', 'X-Robots-Tag'],
    refusals: {
      not_found: { when: 'There is no such film.', message: 'There is no film at this address.' },
      content_expired: {
        when: 'The film was kept for 23 hours and is gone.',
        message: 'The content was kept for 23 hours after completion and is gone. Make the video again.',
      },
    },
  });
