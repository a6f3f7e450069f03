import { atMostEvery } from '../../kit/at-most-every.ts';
import type { ProviderTimeouts } from '../remote-settings.ts';
import { newId } from '../../kit/ids.ts';
import type { Log } from '../../kit/log.ts';
import type { Outbound } from '../../http/outbound.ts';
import { contentParts } from '../video/content-parts.ts';
import { downloadResult, largestResult } from '../video/download-result.ts';
import { inlineImages } from '../video/inline-images.ts';
import { createJsonBody, type JsonBody } from '../video/json-body.ts';
import { ratioProportion } from '../video/ratio-proportion.ts';
import { toContent } from '../video/to-content.ts';
import type { MovMaker } from '../video/to-mov.ts';
import { toPollFailure, toStartFailure, unreadable } from '../video/upstream-failure.ts';
import type { VideoProvider, VideoRequest } from '../video/video-provider.ts';
import { videoSize } from '../video/video-size.ts';
import type { UpstreamFile, VideoUpstream } from '../video/video-upstream.ts';
import { readVideo, toReport, type ResellerVideo } from './reseller-answer.ts';

export interface ResellerVideoOptions {
  /** `/v1` at its end may be there or not. */
  baseUrl: string;
  upstream: VideoUpstream;
  outbound: Pick<Outbound, 'download'>;
  movMaker: MovMaker;
  timeouts: ProviderTimeouts;
  log: Log;
}

/** Many services take bodies of 20 MB at most; base64 makes a third more of an image. */
const inlineBytes = 12 * 1024 ** 2;
const logEveryMs = 60_000;
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Videos by the `/v1/videos` shape that OpenAI began and resellers kept, among them this gateway itself. The request
 * says everything twice where the dialects differ: `seconds`, `size` and `input_reference` for OpenAI's, `content`,
 * `duration`, `resolution` and `ratio` for this gateway's; each ignores what it does not know.
 */
export const createResellerVideo = (options: ResellerVideoOptions): VideoProvider => {
  const { upstream, outbound, movMaker, timeouts, log } = options;
  const videosUrl = `${options.baseUrl.replace(/\/v1$/, '')}/v1/videos`;
  const tellUnknown = atMostEvery<ResellerVideo>(logEveryMs, ({ status }, leftOut) =>
    log.warn({ status, leftOut }, 'a video is in a state that is not known; taken for pending'),
  );
  const urlOf = (id: string): string => `${videosUrl}/${encodeURIComponent(id)}`;

  /** The bytes of a part; null where the upstream has no such part. */
  const openContent = async (
    id: string,
    part: 'video' | 'last_frame',
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array> | null> => {
    const url = `${urlOf(id)}/content${part === 'video' ? '' : '?variant=last_frame'}`;
    const file = await upstream.open(url, { maxBytes: largestResult[part], signal });
    if (file.status === 200) return file.body;
    await leave(file);
    const { location } = file.headers;
    // The key stays here: the address is often another host's.
    if (redirects.has(file.status) && typeof location === 'string' && URL.canParse(location, url))
      return downloadResult(new URL(location, url).href, part, { outbound, timeouts, signal });
    if (part === 'last_frame' && [400, 404, 422].includes(file.status)) return null;
    throw toPollFailure({ ...file, value: undefined });
  };

  return {
    start: async (request, { signal }) => {
      const answer = await upstream.post(videosUrl, {
        body: await toBody(request, signal),
        headers: { 'idempotency-key': newId() },
        signal,
      });
      if (answer.status < 200 || answer.status > 299) throw toStartFailure(answer);
      const id = readVideo(answer.value)?.id;
      if (id === undefined) throw unreadable('the upstream began a video without an id', 'ambiguous');
      return id;
    },
    report: async (id, { signal }) => {
      const answer = await upstream.get(urlOf(id), signal);
      if (answer.status !== 200) throw toPollFailure(answer);
      const video = readVideo(answer.value);
      if (video === null) throw unreadable('the upstream answered no video', 'retry_same');
      const report = toReport(video);
      if (report !== null) return report;
      tellUnknown(video);
      return { state: 'pending', progress: video.progress ?? null };
    },
    fetch: async (id, part, { request, signal }) => {
      const body = await openContent(id, part, signal);
      const found = body === null ? null : await toContent(part, body);
      if (found === null) {
        // An upstream that does not know the variant sends its video.
        if (part === 'last_frame') return null;
        throw unreadable('the upstream’s video is of another type', 'ambiguous');
      }
      return part === 'video' && request.outputFormat === 'mov' ? movMaker.toMov(found, signal) : found;
    },
  };
};

/** Reads a little of a body that nobody wants and lets its connection go. */
const leave = async ({ body }: UpstreamFile): Promise<void> => {
  await body.next();
  await body.return();
};

const toBody = async (request: VideoRequest, signal: AbortSignal): Promise<JsonBody> => {
  const { inputs, durationSeconds, resolution, ratio } = request;
  const urls = await inlineImages(inputs, { maxBytes: inlineBytes, signal });
  const image = inputs.find(({ contentType }) => contentType.startsWith('image/'));
  const size = ratio === 'adaptive' ? null : videoSize(resolution, ratioProportion(ratio));
  return createJsonBody({
    model: request.model,
    ...(request.prompt === '' ? {} : { prompt: request.prompt }),
    ...(inputs.length === 0 ? {} : { content: contentParts(inputs, urls) }),
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
