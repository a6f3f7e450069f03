import { newId } from '../../kit/ids.ts';
import {
  contentParts,
  createJsonBody,
  createTaskVideo,
  downloadResult,
  type JsonBody,
  largestResult,
  resultBody,
  type TaskVideoOptions,
  toContent,
} from '../video/task-video.ts';
import { leaveBody } from '../../http/send-request.ts';
import { toPollFailure } from '../upstream-failure.ts';
import { ProviderError } from '../provider-error.ts';
import {
  ratioProportion,
  type VideoProvider,
  type VideoRequest,
  videoSize,
} from '../video/video-provider.ts';

/** Many services take bodies of 20 MB at most; base64 makes a third more of an image. */
const maxInlineBytes = 12 * 1024 ** 2;
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Videos by the `/v1/videos` form that OpenAI began and resellers kept, among them this gateway itself. The request has
 * each field twice where the dialects differ: `seconds`, `size` and `input_reference` for OpenAI's, `content`,
 * `duration`, `resolution` and `ratio` for this gateway's. Each ignores the fields of the other.
 */
export const createResellerVideo = (options: TaskVideoOptions): VideoProvider => {
  const { upstream, outbound, timeouts } = options;

  /** Opens the bytes of a part; null where the upstream has no such part. */
  const openBytes = async (
    part: 'video' | 'last_frame',
    { url: videoUrl, signal }: { url: string; signal: AbortSignal },
  ): Promise<AsyncIterable<Uint8Array> | null> => {
    const url = `${videoUrl}/content${part === 'video' ? '' : '?variant=last_frame'}`;
    const file = await upstream.open(url, { limits: { totalBytes: largestResult[part] }, signal });
    if (file.status === 200) return resultBody(file.body, signal);
    leaveBody(file.body);
    const { location } = file.headers;
    // The key is not sent there: the address is often another host's.
    if (redirects.has(file.status) && typeof location === 'string' && URL.canParse(location, url))
      return downloadResult(new URL(location, url).href, part, { outbound, timeouts, signal });
    if (part === 'last_frame' && [400, 404, 422].includes(file.status)) return null;
    throw toPollFailure(file);
  };

  return createTaskVideo(
    {
      url: `${options.baseUrl.replace(/\/v1$/, '')}/v1/videos`,
      toBody,
      headers: () => ({ 'idempotency-key': newId() }),
      open: async (part, task) => {
        const body = await openBytes(part, task);
        const content = body === null ? null : await toContent(part, body);
        // An upstream that does not know the variant sends its video.
        if (content === null && part === 'video')
          throw new ProviderError('the upstream’s video is of another type', { failure: 'ambiguous' });
        return content;
      },
    },
    options,
  );
};

const toBody = async (request: VideoRequest, signal: AbortSignal): Promise<JsonBody> => {
  const { inputs, durationSeconds, resolution, ratio } = request;
  const content = await contentParts(inputs, { maxBytes: maxInlineBytes, signal });
  const image = inputs.find(({ contentType }) => contentType.startsWith('image/'));
  const size = ratio === 'adaptive' ? null : videoSize(resolution, ratioProportion(ratio));
  return createJsonBody({
    model: request.model,
    ...(request.prompt === '' ? {} : { prompt: request.prompt }),
    ...(inputs.length === 0 ? {} : { content }),
    ...(image === undefined ? {} : { input_reference: { image_url: image.url } }),
    duration: durationSeconds,
    ...(durationSeconds === -1 ? {} : { seconds: String(durationSeconds) }),
    resolution,
    ratio,
    ...(size === null ? {} : { size: `${size.width}x${size.height}` }),
    ...(request.seed === null ? {} : { seed: request.seed }),
    generate_audio: request.generateAudio,
    nsfw_check: request.nsfwCheck,
    return_last_frame: request.returnLastFrame,
    output_format: request.outputFormat,
  });
};
