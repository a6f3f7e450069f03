import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { withRoom } from '../../kit/disk.ts';
import { digesting } from '../../kit/streams.ts';
import { maxInputBytes } from '../../media/fetch-input.ts';
import { refuseInput } from '../../media/stream-input.ts';
import { measureVideo } from '../../providers/video/measure-video.ts';
import type { AccountCall, Services } from '../call.ts';
import type { VideoJobInput } from './run-video.ts';
import type { NamedInput } from './video-input.ts';
import { takeAll } from '../media/take-inputs.ts';

/** The deadline for all inputs of one request. */
const deadlineMs = 60_000;

export type InputServices = Pick<Services, 'fetchInput' | 'streamInput' | 'inputFolder' | 'media' | 'store'>;

export interface TakenInput extends VideoJobInput {
  /** The measured length of a reference video; null for everything else. */
  seconds: number | null;
}

/**
 * Downloads, checks and saves a copy of each medium that a request names. When one is refused, none is kept. Throws
 * AppError, or the signal's reason when the client disconnects.
 */
export const takeVideoInputs = (
  named: readonly NamedInput[],
  call: AccountCall,
  services: InputServices,
): Promise<TakenInput[]> =>
  takeAll(named, {
    atOnce: named.length,
    deadlineMs,
    tooLate: () =>
      refuseInput('content', `the inputs could not all be read within ${deadlineMs / 1000} seconds.`),
    signal: call.signal,
    discard: (taken) => services.media.discard(taken.map(({ id }) => id)),
    take: (input, signal) => takeInput(input, { call, services, signal }),
  });

type TakeContext = { call: AccountCall; services: InputServices; signal: AbortSignal };

const takeInput = async (input: NamedInput, context: TakeContext): Promise<TakenInput> => {
  if (input.role === 'reference_video') return takeVideo(input, context);
  const { call, services, signal } = context;
  const kind = input.role === 'reference_audio' ? 'audio' : 'image';
  const { accountId } = call.caller;
  const options = {
    kind,
    maxBytes: maxInputBytes[kind],
    param: input.param,
    totalMs: deadlineMs,
    signal,
    accountId,
  } as const;
  return services.fetchInput(input.url, options, async ({ contentType, bytes }) => {
    const { id, sizeBytes } = await services.media.save({
      accountId,
      role: 'input',
      contentType,
      source: bytes,
      signal,
    });
    return { role: input.role, id, contentType, sizeBytes, seconds: null };
  });
};

/** Saves a video by way of a file, where it is measured, so that its size costs no memory. */
const takeVideo = ({ url, param, role }: NamedInput, context: TakeContext): Promise<TakenInput> => {
  const { call, services, signal } = context;
  const { accountId } = call.caller;
  const maxBytes = maxInputBytes.video;
  return services.inputFolder.hold({ maxBytes, signal, accountId }, async (file) => {
    const { contentType, source } = await services.streamInput(url, {
      kind: 'video',
      maxBytes,
      param,
      totalMs: deadlineMs,
      signal,
      accountId,
    });
    const hash = createHash('sha256');
    await pipeline(
      digesting(withRoom(source instanceof Uint8Array ? [source] : source, dirname(file)), hash),
      createWriteStream(file, { flags: 'wx', mode: 0o600 }),
      { signal },
    );
    // Upstreams make videos some pictures longer than ordered. A video that was made here counts with its paid length.
    const seconds =
      (await services.store.findMadeClip(hash.digest('hex'))) ?? (await measureVideo(file, signal))?.seconds;
    if (seconds === undefined)
      throw refuseInput(
        param,
        'the length of this video cannot be read from it for certain. Export it anew, as one plain MP4.',
      );
    const { id, sizeBytes } = await services.media.save({
      accountId,
      role: 'input',
      contentType,
      source: createReadStream(file),
      signal,
    });
    return { role, id, contentType, sizeBytes, seconds };
  });
};
