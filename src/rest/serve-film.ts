import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '../kit/errors.ts';
import { extensionOf, isGone } from '../media/media-library.ts';
import type { Services } from '../operations/call.ts';
import { contentExpired, refundLostVideo } from '../operations/videos/get-video-content.ts';
import type { Media } from '../store/store.ts';
import { createStreamMedium } from './stream-medium.ts';

type FilmServices = Pick<Services, 'films' | 'store' | 'media' | 'clock' | 'log'>;

/** Readers at once in this process. The films of one account have at most a quarter of them. */
const streams = 64;

/** On refusals, too, because the address itself is the right to see the film. */
const privateHeaders = {
  'cache-control': 'private',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
};

const browserHeaders = {
  // A browser shows a film in a page of its own, whose style is in the page.
  'content-security-policy': "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'",
};

/**
 * Serves a film at its address, which needs no key and cannot be guessed. Throws as `createStreamMedium`, and AppError
 * `not_found`, also when the account is suspended, or `content_expired`.
 */
export const createServeFilm = (services: FilmServices) => {
  const { films, store, media: library, clock } = services;
  const streamMedium = createStreamMedium({ library, streams });

  const find = async (jobId: string): Promise<Media> => {
    const film = (await store.listMedia(jobId)).find(({ role }) => role === 'video');
    const account = film === undefined ? null : await store.getAccount(film.accountId);
    if (film === undefined || account === null || account.status === 'suspended') throw noFilm();
    if (isGone(film, clock.now())) throw contentExpired();
    return film;
  };

  return async (
    token: string,
    { request, response }: { request: IncomingMessage; response: ServerResponse },
  ): Promise<void> => {
    for (const [name, value] of Object.entries(privateHeaders)) response.setHeader(name, value);
    const jobId = films.jobIdOf(token);
    if (jobId === null) throw noFilm();
    const film = await find(jobId);
    const { accountId } = film;
    await streamMedium({
      media: film,
      reader: accountId,
      request,
      response,
      headers: {
        ...browserHeaders,
        'content-disposition': `inline; filename="${jobId}.${extensionOf(film.contentType) ?? 'mp4'}"`,
      },
      whenMissing: async () => {
        const job = await store.getJob({ id: jobId, accountId });
        return job === null ? noFilm() : refundLostVideo(job, film, services);
      },
    });
  };
};

const noFilm = (): AppError => new AppError('not_found', 'There is no film at this address.');
