import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Outbound } from '../../http/outbound.ts';
import { throttle } from '../../kit/throttle.ts';
import type { Log } from '../../kit/log.ts';
import { ProviderError } from '../provider-error.ts';
import type { ProviderTimeouts } from '../remote-settings.ts';
import type { JsonBody } from './json-body.ts';
import type { MovMaker } from './to-mov.ts';
import { toPollFailure, toStartFailure, toTaskFailure } from '../upstream-failure.ts';
import type { Upstream } from '../upstream.ts';
import type { VideoContent, VideoProvider, VideoReport, VideoRequest } from './video-provider.ts';

/** Options of the adapters of upstreams with video tasks. */
export interface TaskVideoOptions {
  /** The address of the service. Its version part may be there or not. */
  baseUrl: string;
  upstream: Upstream;
  outbound: Pick<Outbound, 'download'>;
  movMaker: MovMaker;
  timeouts: ProviderTimeouts;
  log: Log;
}

const text = z.string().min(1).optional().catch(undefined);

/** A task as upstreams send it. A member of another type counts as absent. */
const taskSchema = z.object({
  id: text,
  status: text,
  progress: z.number().optional().catch(undefined),
  error: z.unknown().optional(),
  content: z.object({ video_url: text, last_frame_url: text }).nullish().catch(undefined),
});

export type VideoTask = z.infer<typeof taskSchema>;

/** The part of an upstream's interface that differs from other upstreams. */
export interface TaskApi {
  /** The address of the list of tasks. */
  url: string;
  /** Makes the body that begins a task. Throws ProviderError for a request that the upstream cannot serve. */
  toBody(request: VideoRequest, signal: AbortSignal): Promise<JsonBody>;
  /** Headers for one start. */
  headers?(): Record<string, string>;
  /** Tells whether a succeeded task has a video. Absent: it always has. */
  hasVideo?(task: VideoTask): boolean;
  /** Opens a part of a finished task; null for a last frame that the upstream did not make. */
  open(
    part: 'video' | 'last_frame',
    task: { url: string; read(): Promise<VideoTask>; signal: AbortSignal },
  ): Promise<VideoContent | null>;
}

const logEveryMs = 60_000;

/** Videos by an upstream with tasks: a POST begins one, a GET reports its state, and its files are fetched in the end. */
export const createTaskVideo = (
  api: TaskApi,
  { upstream, movMaker, log }: Pick<TaskVideoOptions, 'upstream' | 'movMaker' | 'log'>,
): VideoProvider => {
  const warnOfState = throttle<VideoTask>(logEveryMs, ({ status }, leftOut) =>
    log.warn({ status, leftOut }, 'a video task has an unknown state, which is taken for pending'),
  );
  const urlOf = (id: string): string => `${api.url}/${encodeURIComponent(id)}`;

  const readTask = async (url: string, signal: AbortSignal): Promise<VideoTask> => {
    const answer = await upstream.ask(url, { signal });
    if (answer.status !== 200) throw toPollFailure(answer);
    const { data } = taskSchema.safeParse(answer.value);
    if (data === undefined)
      throw new ProviderError('the upstream answered no task', { failure: 'retry_same' });
    return data;
  };

  const toReport = (task: VideoTask): VideoReport => {
    switch (task.status) {
      case 'queued':
      case 'pending':
      case 'processing':
      case 'running':
      case 'in_progress':
        return { state: 'pending', progress: task.progress ?? null };
      case 'succeeded':
      case 'completed':
        return api.hasVideo?.(task) === false ? failed('a finished task has no video') : { state: 'done' };
      case 'failed':
        return { state: 'failed', error: toTaskFailure(task.error) };
      case 'canceled':
      case 'cancelled':
      case 'expired':
        return failed(`the task was ${task.status}`);
      default:
        warnOfState(task);
        return { state: 'pending', progress: task.progress ?? null };
    }
  };

  return {
    start: async (request, { signal }) => {
      const { chunks, lengthBytes } = await api.toBody(request, signal);
      const headers = { 'content-type': 'application/json', 'content-length': String(lengthBytes) };
      const answer = await upstream.ask(api.url, {
        body: Readable.from(chunks),
        headers: { ...headers, ...api.headers?.() },
        signal,
      });
      if (answer.status < 200 || answer.status > 299) throw toStartFailure(answer);
      const id = taskSchema.safeParse(answer.value).data?.id;
      // The task may exist.
      if (id === undefined)
        throw new ProviderError('the upstream began a task without an id', { failure: 'ambiguous' });
      return id;
    },
    report: async (id, { signal }) => toReport(await readTask(urlOf(id), signal)),
    fetch: async (id, part, { request, signal }) => {
      const url = urlOf(id);
      const content = await api.open(part, { url, read: () => readTask(url, signal), signal });
      return content !== null && part === 'video' && request.outputFormat === 'mov'
        ? movMaker.toMov(content, signal)
        : content;
    },
  };
};

const failed = (message: string): VideoReport => ({
  state: 'failed',
  error: new ProviderError(message, { failure: 'fatal' }),
});
