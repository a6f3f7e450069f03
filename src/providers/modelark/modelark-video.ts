import { ProviderError } from '../provider-error.ts';
import {
  contentParts,
  createJsonBody,
  createTaskVideo,
  downloadResult,
  type JsonBody,
  type TaskVideoOptions,
  toContent,
} from '../video/task-video.ts';
import type { VideoProvider, VideoRequest } from '../video/video-provider.ts';
import { tasksUrl } from './tasks-url.ts';

/** ModelArk takes requests of 64 MB; base64 makes a third more of an image. */
const maxInlineBytes = 40 * 1024 ** 2;

/** Videos by ModelArk's tasks. Its MP4 is made a MOV here. It has no moderation, so a request for one is not begun. */
export const createModelarkVideo = (options: TaskVideoOptions): VideoProvider => {
  const { outbound, timeouts } = options;
  return createTaskVideo(
    {
      url: tasksUrl(options.baseUrl),
      toBody,
      hasVideo: ({ content }) => content?.video_url !== undefined,
      open: async (part, { read, signal }) => {
        // The addresses are valid for a day and are signed anew with every answer.
        const { content } = await read();
        const url = part === 'video' ? content?.video_url : content?.last_frame_url;
        if (url === undefined) {
          if (part === 'last_frame') return null;
          throw new ProviderError('a finished task has no video', { failure: 'retry_same' });
        }
        const found = await toContent(part, await downloadResult(url, part, { outbound, timeouts, signal }));
        if (found === null)
          throw new ProviderError(`the upstream's ${part} is of another type`, { failure: 'ambiguous' });
        return found;
      },
    },
    options,
  );
};

const toBody = async (request: VideoRequest, signal: AbortSignal): Promise<JsonBody> => {
  if (request.nsfwCheck)
    throw new ProviderError('ModelArk has no nsfw_check; set moderation in causeway.yaml', {
      failure: 'retry_other',
      // The model serves every other request, so its route must stay open.
      code: 'invalid_parameter',
    });
  const parts = await contentParts(request.inputs, { maxBytes: maxInlineBytes, signal });
  const prompt = escapeFlags(request.prompt);
  return createJsonBody({
    model: request.model,
    content: [...(prompt === '' ? [] : [{ type: 'text', text: prompt }]), ...parts],
    resolution: request.resolution,
    ratio: request.ratio,
    duration: request.durationSeconds,
    ...(request.seed === null ? {} : { seed: request.seed }),
    generate_audio: request.generateAudio,
    return_last_frame: request.returnLastFrame,
    watermark: false,
  });
};

/**
 * Replaces the hyphens of a flag: ModelArk reads `--duration 15` in a prompt as one, which would override the request and
 * its price. Only the start of a run of hyphens is matched, so that a long run takes linear time.
 */
export const escapeFlags = (prompt: string): string => prompt.replaceAll(/(?<!-)-{2,}(?=\p{L})/gu, '–');
