import { atMostEvery } from '../../kit/at-most-every.ts';
import type { ProviderTimeouts } from '../remote-settings.ts';
import type { Log } from '../../kit/log.ts';
import type { Outbound } from '../../http/outbound.ts';
import { ProviderError } from '../provider-error.ts';
import { contentParts } from '../video/content-parts.ts';
import { downloadResult } from '../video/download-result.ts';
import { inlineImages } from '../video/inline-images.ts';
import { createJsonBody, type JsonBody } from '../video/json-body.ts';
import { toContent } from '../video/to-content.ts';
import type { MovMaker } from '../video/to-mov.ts';
import { toPollFailure, toStartFailure, unreadable } from '../video/upstream-failure.ts';
import type { VideoProvider, VideoRequest } from '../video/video-provider.ts';
import type { VideoUpstream } from '../video/video-upstream.ts';
import { readTask, toReport, type TaskAnswer } from './task-answer.ts';
import { tasksUrl } from './tasks-url.ts';
import { withoutCommands } from './without-commands.ts';

export interface ModelarkVideoOptions {
  /** Of the service; `/api/v3` at its end may be there or not. */
  baseUrl: string;
  upstream: VideoUpstream;
  outbound: Pick<Outbound, 'download'>;
  movMaker: MovMaker;
  timeouts: ProviderTimeouts;
  log: Log;
}

/** ModelArk takes requests of 64 MB; base64 makes a third more of an image. */
const inlineBytes = 40 * 1024 ** 2;
const logEveryMs = 60_000;

/**
 * Videos by ModelArk's generation tasks. It makes no MOV: its MP4 is put into one here. It has no extra moderation pass: a
 * request that still wants one (`nsfwCheck`) is not begun.
 */
export const createModelarkVideo = (options: ModelarkVideoOptions): VideoProvider => {
  const { upstream, outbound, movMaker, timeouts, log } = options;
  const url = tasksUrl(options.baseUrl);
  const tellUnknown = atMostEvery<TaskAnswer>(logEveryMs, ({ status }, leftOut) =>
    log.warn({ status, leftOut }, 'a video task is in a state that is not known; taken for pending'),
  );

  const askTask = async (id: string, signal: AbortSignal): Promise<TaskAnswer> => {
    const answer = await upstream.get(`${url}/${encodeURIComponent(id)}`, signal);
    if (answer.status !== 200) throw toPollFailure(answer);
    const task = readTask(answer.value);
    if (task === null) throw unreadable('the upstream answered no task', 'retry_same');
    return task;
  };

  return {
    start: async (request, { signal }) => {
      if (request.nsfwCheck)
        throw new ProviderError('ModelArk has no nsfw_check; set moderation in causeway.yaml', {
          failure: 'retry_other',
          code: 'upstream_unavailable',
        });
      const answer = await upstream.post(url, { body: await toBody(request, signal), signal });
      if (answer.status < 200 || answer.status > 299) throw toStartFailure(answer);
      const id = readTask(answer.value)?.id;
      if (id === undefined) throw unreadable('the upstream began a task without an id', 'ambiguous');
      return id;
    },
    report: async (id, { signal }) => {
      const task = await askTask(id, signal);
      const report = toReport(task);
      if (report !== null) return report;
      tellUnknown(task);
      return { state: 'pending', progress: null };
    },
    fetch: async (id, part, { request, signal }) => {
      // Its addresses live a day and are signed anew with every answer.
      const { content } = await askTask(id, signal);
      const url = part === 'video' ? content?.video_url : content?.last_frame_url;
      if (url === undefined) {
        if (part === 'last_frame') return null;
        throw unreadable('a finished task has no video', 'retry_same');
      }
      const found = await toContent(part, await downloadResult(url, part, { outbound, timeouts, signal }));
      if (found === null) throw unreadable(`the upstream's ${part} is of another type`, 'ambiguous');
      return part === 'video' && request.outputFormat === 'mov' ? movMaker.toMov(found, signal) : found;
    },
  };
};

const toBody = async (request: VideoRequest, signal: AbortSignal): Promise<JsonBody> => {
  const urls = await inlineImages(request.inputs, { maxBytes: inlineBytes, signal });
  const prompt = withoutCommands(request.prompt);
  return createJsonBody({
    model: request.model,
    content: [
      ...(prompt === '' ? [] : [{ type: 'text', text: prompt }]),
      ...contentParts(request.inputs, urls),
    ],
    resolution: request.resolution,
    ratio: request.ratio,
    duration: request.durationSeconds,
    ...(request.seed === null ? {} : { seed: request.seed }),
    generate_audio: request.generateAudio,
    return_last_frame: request.returnLastFrame,
    watermark: false,
  });
};
