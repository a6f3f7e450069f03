import { ImageError, readImageHeader } from '../../image/decode-image.ts';
import { ProviderError } from '../../provider-error.ts';
import { measureVideo, type VideoMeasure } from '../../video/measure-video.ts';
import {
  type FrameSize,
  nearestShape,
  ratioProportion,
  type VideoInput,
  videoRatios,
  type VideoRequest,
  videoSize,
} from '../../video/video-provider.ts';
import { sandboxHolder } from '../pictures/edit-pictures.ts';

/** All that a film depends on. Plain JSON, without words of the request. */
export interface FilmPlan extends FrameSize {
  /** Whole seconds, except for an edit of a clip. */
  seconds: number;
  container: 'mp4' | 'mov';
  hasSound: boolean;
  hasLastFrame: boolean;
}

interface Shape {
  role: VideoInput['role'];
  /** Width divided by height, as shown. */
  proportion: number;
}

const ratios = videoRatios.filter((ratio) => ratio !== 'adaptive');

/** Plans a film. Throws ProviderError when an input image, or a clip whose length or shape is needed, cannot be read. */
export const planFilm = async (request: VideoRequest, signal: AbortSignal): Promise<FilmPlan> => {
  const { ratio, resolution, durationSeconds, outputFormat, generateAudio, returnLastFrame } = request;
  const images = await readShapes(request.inputs, signal);
  const clip = await measureClip(request, signal);
  return {
    ...videoSize(resolution, ratio === 'adaptive' ? adapted(images, clip) : ratioProportion(ratio)),
    seconds: durationSeconds === -1 ? (clip?.seconds ?? 0) : durationSeconds,
    container: outputFormat,
    hasSound: generateAudio,
    hasLastFrame: returnLastFrame,
  };
};

/** Reads the headers of all images, also where no shape is needed: a real model would refuse a broken one. */
const readShapes = async (inputs: readonly VideoInput[], signal: AbortSignal): Promise<Shape[]> => {
  const shapes: Shape[] = [];
  for (const { role, contentType, load } of inputs)
    if (contentType.startsWith('image/'))
      shapes.push({ role, proportion: await proportionOf(await load(signal), signal) });
  return shapes;
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

/** Returns the proportion that is nearest to the first frame, another image, or the reference video. */
const adapted = (images: readonly Shape[], clip: VideoMeasure | null): number => {
  const image = images.find(({ role }) => role === 'first_frame') ?? images[0];
  const wanted = image?.proportion ?? (clip === null ? 16 / 9 : clip.width / clip.height);
  return ratioProportion(nearestShape(ratios, wanted));
};

const unusable = (message: string, cause?: unknown): ProviderError =>
  new ProviderError(message, { failure: 'fatal', code: 'invalid_parameter', cause });

/** Returns the address of a file that scripts/sandbox-loops.ts made. */
export const loopUrl = (name: string): URL => new URL(`../loops/${name}`, import.meta.url);
