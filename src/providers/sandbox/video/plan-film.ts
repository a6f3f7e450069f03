import { ImageError, readImageHeader } from '../../image/decode-image.ts';
import { ProviderError } from '../../provider-error.ts';
import { measureVideo, type VideoMeasure } from '../../video/measure-video.ts';
import type { VideoInput, VideoRequest } from '../../video/video-provider.ts';
import { ratioProportion, videoSize, type FrameSize } from '../../video/video-size.ts';
import { excerpt } from '../compose-text.ts';
import type { PictureRequest } from '../pictures/draw-picture.ts';
import { sandboxHolder } from '../pictures/edit-pictures.ts';

/** One still of a film. */
export type Shot = { kind: 'card' } | { kind: 'image'; /** A name in the film's folder. */ file: string };

/** The plan of a film, without its input images. Plain JSON. */
export interface FilmPlan extends FrameSize {
  /** The number of pictures. The length is this divided by `fps`. */
  frames: number;
  fps: number;
  codec: 'h264' | 'hevc';
  container: 'mp4' | 'mov';
  hasSound: boolean;
  hasLastFrame: boolean;
  /** In order, all of the same length. */
  shots: Shot[];
  card: Pick<PictureRequest, 'caption' | 'seed'>;
}

/** An input image of a film, stored beside its plan. */
export interface FilmImage {
  /** Its name in the film's folder. */
  file: string;
  bytes: Uint8Array;
}

const maxCaptionLength = 300;
/** Reference images that are shown and stored. */
const maxReferences = 4;
const widest = 21 / 9;
const defaultProportion = 16 / 9;

interface LoadedImage extends FilmImage {
  role: VideoInput['role'];
  /** Width divided by height, as shown. */
  proportion: number;
}

/** Plans a film and loads the images that it needs. Throws ProviderError when an input cannot be read. */
export const planFilm = async (
  request: VideoRequest,
  signal: AbortSignal,
): Promise<{ plan: FilmPlan; images: FilmImage[] }> => {
  const images = await loadImages(request.inputs, signal);
  const clip = await measureClip(request, signal);
  const proportion = request.ratio === 'adaptive' ? adapted(images, clip) : ratioProportion(request.ratio);
  const is4k = request.resolution === '4k';
  const fps = is4k ? 12 : 24;
  const seconds = request.durationSeconds === -1 ? (clip?.seconds ?? 0) : request.durationSeconds;
  return {
    images,
    plan: {
      ...videoSize(request.resolution, proportion),
      frames: Math.max(1, Math.round(seconds * fps)),
      fps,
      codec: is4k ? 'hevc' : 'h264',
      container: request.outputFormat,
      hasSound: request.generateAudio,
      hasLastFrame: request.returnLastFrame,
      shots: shotsOf(images),
      card: { caption: captionOf(request), seed: `${request.prompt}\n${request.seed ?? ''}` },
    },
  };
};

const loadImages = async (inputs: readonly VideoInput[], signal: AbortSignal): Promise<LoadedImage[]> => {
  const references = inputs.filter(({ role }) => role === 'reference_image').slice(0, maxReferences);
  const shown = inputs.filter((input) => input.role.endsWith('_frame') || references.includes(input));
  const images: LoadedImage[] = [];
  for (const [index, input] of shown.entries()) {
    const bytes = await input.load(signal);
    const file = `input-${index}.${input.contentType.slice('image/'.length)}`;
    images.push({ role: input.role, file, bytes, proportion: await proportionOf(bytes, signal) });
  }
  return images;
};

const proportionOf = async (bytes: Uint8Array, signal: AbortSignal): Promise<number> => {
  try {
    const { autoOrient } = await readImageHeader(bytes, { signal, accountId: sandboxHolder });
    return autoOrient.width / autoOrient.height;
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw unusable('an input image cannot be read', error);
  }
};

/** Measures the reference video when its length or shape is needed. */
const measureClip = async (
  { inputs, durationSeconds, ratio }: VideoRequest,
  signal: AbortSignal,
): Promise<VideoMeasure | null> => {
  const input = inputs.find(({ role }) => role === 'reference_video');
  const isEdit = durationSeconds === -1;
  const isNeeded = isEdit || ratio === 'adaptive';
  const measure =
    isNeeded && input !== undefined ? await measureVideo(await input.load(signal), signal) : null;
  if (isEdit && measure === null)
    throw unusable('there is no reference video to edit, or its length cannot be read');
  return measure;
};

/** Returns the proportion of the first frame, of another image, or of the reference video. */
const adapted = (images: readonly LoadedImage[], clip: VideoMeasure | null): number => {
  const image = images.find(({ role }) => role === 'first_frame') ?? images[0];
  const proportion = image?.proportion ?? (clip === null ? defaultProportion : clip.width / clip.height);
  return Math.min(widest, Math.max(1 / widest, proportion));
};

const shotsOf = (images: readonly LoadedImage[]): Shot[] => {
  const ofRole = (role: VideoInput['role']): Shot[] =>
    images.filter((image) => image.role === role).map(({ file }) => ({ kind: 'image', file }));
  return [...ofRole('first_frame'), ...ofRole('reference_image'), { kind: 'card' }, ...ofRole('last_frame')];
};

const captionOf = ({ prompt, inputs }: VideoRequest): string => {
  const count = (kind: string, noun: string): string[] => {
    const { length } = inputs.filter(({ contentType }) => contentType.startsWith(`${kind}/`));
    return length === 0 ? [] : [`${length} ${noun}${length === 1 ? '' : 's'}`];
  };
  const given = [...count('image', 'image'), ...count('video', 'video'), ...count('audio', 'sound')];
  const words = excerpt(prompt, maxCaptionLength);
  return [words, given.length === 0 ? '' : `(with ${given.join(', ')})`].join(' ').trim();
};

const unusable = (message: string, cause?: unknown): ProviderError =>
  new ProviderError(message, { failure: 'fatal', code: 'invalid_parameter', cause });
