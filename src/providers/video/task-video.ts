import { Readable } from 'node:stream';
import { z } from 'zod';
import { lastingFailures, type Outbound, OutboundError } from '../../http/outbound.ts';
import { throttle } from '../../kit/repeat.ts';
import type { Log } from '../../kit/log.ts';
import { ProviderError } from '../provider-error.ts';
import type { ProviderTimeouts } from '../remote-settings.ts';
import type { MovMaker } from './to-mov.ts';
import { toPollFailure, toStartFailure, toTaskFailure } from '../upstream-failure.ts';
import { isSuccess, type Upstream } from '../upstream.ts';
import type { VideoContent, VideoInput, VideoProvider, VideoReport, VideoRequest } from './video-provider.ts';
import { peekStream } from '../../kit/streams.ts';
import { imageContentType, videoContentType } from '../content-type.ts';
import { randomUUID } from 'node:crypto';

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
      if (!isSuccess(answer)) throw toStartFailure(answer);
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

export const largestResult = { video: 2 * 1024 ** 3, last_frame: 64 * 1024 ** 2 };

/** Downloads a result from an address that an upstream named, through the guarded client. Throws ProviderError. */
export const downloadResult = async (
  url: string,
  part: 'video' | 'last_frame',
  options: { outbound: Pick<Outbound, 'download'>; timeouts: ProviderTimeouts; signal: AbortSignal },
): Promise<AsyncGenerator<Uint8Array, void, undefined>> => {
  const { outbound, timeouts, signal } = options;
  const { idleMs, totalMs } = timeouts;
  try {
    const maxBytes = largestResult[part];
    const { body } = await outbound.download(url, { lane: 'results', maxBytes, idleMs, totalMs, signal });
    return resultBody(body, signal);
  } catch (error) {
    throw signal.aborted ? signal.reason : toResultFailure(error);
  }
};

/** Reads a result at the reader's pace. A reader that stops early ends the body. Throws ProviderError, or the signal's reason. */
export const resultBody = async function* (
  body: Readable,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* body;
  } catch (error) {
    throw signal.aborted ? signal.reason : toResultFailure(error);
  }
};

/** Maps a failure of a download: the task is done and its result is still there, so that it can be fetched again. */
const toResultFailure = (error: unknown): unknown =>
  error instanceof OutboundError
    ? new ProviderError(`the upstream's result could not be fetched: ${error.message}`, {
        failure: lastingFailures.has(error.failure) ? 'fatal' : 'retry_same',
        cause: error,
      })
    : error;

/** The bytes that are enough to tell a type. */
const headBytes = 12;

/** Reads the type of a file from its first bytes. Returns null for a file of another kind, and reads no more of it. */
export const toContent = async (
  part: 'video' | 'last_frame',
  source: AsyncIterable<Uint8Array>,
): Promise<VideoContent | null> => {
  const { head, body, close } = await peekStream(source, headBytes);
  const contentType = part === 'video' ? videoContentType(head) : imageContentType(head);
  if (contentType !== null) return { contentType, body };
  await close();
  return null;
};

/** A file that becomes a data URI in a JSON body. */
export class DataUri {
  readonly contentType: string;
  readonly bytes: Uint8Array;

  constructor(contentType: string, bytes: Uint8Array) {
    this.contentType = contentType;
    this.bytes = bytes;
  }
}

export interface JsonBody {
  lengthBytes: number;
  /** Made when they are read, so that only a slice of a large file is in memory as base64. */
  chunks: AsyncIterable<Uint8Array>;
}

/** Bytes that are encoded at once. A multiple of three, so that the pieces join to one base64 text. */
const sliceBytes = 3 * 65_536;

/** Makes the JSON text of a plain value. Each DataUri in it becomes a text. */
export const createJsonBody = (value: object): JsonBody => {
  const mark = randomUUID();
  const files: DataUri[] = [];
  const text = JSON.stringify(value, (_name, part: unknown) => {
    if (!(part instanceof DataUri)) return part;
    files.push(part);
    return mark;
  });
  const texts = text.split(mark).map((piece) => Buffer.from(piece));
  const textBytes = texts.reduce((sum, piece) => sum + piece.length, 0);
  const fileBytes = files.reduce((sum, file) => sum + head(file).length + base64Length(file), 0);
  return { lengthBytes: textBytes + fileBytes, chunks: join(texts, files) };
};

const head = ({ contentType }: DataUri): string => `data:${contentType};base64,`;

const base64Length = ({ bytes }: DataUri): number => Math.ceil(bytes.length / 3) * 4;

const join = async function* (
  texts: readonly Buffer[],
  files: readonly DataUri[],
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const [index, text] of texts.entries()) {
    yield text;
    const file = files[index];
    if (file === undefined) continue;
    yield Buffer.from(head(file));
    for (let start = 0; start < file.bytes.length; start += sliceBytes)
      yield Buffer.from(Buffer.from(file.bytes.subarray(start, start + sliceBytes)).toString('base64'));
  }
};

/** Makes `content` parts: images inline, as many as fit into `maxBytes` together; everything else by its address. */
export const contentParts = async (
  inputs: readonly VideoInput[],
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<Record<string, unknown>[]> => {
  const parts: Record<string, unknown>[] = [];
  let leftBytes = maxBytes;
  for (const input of inputs) {
    const kind = input.contentType.slice(0, input.contentType.indexOf('/'));
    const bytes = kind === 'image' && leftBytes > 0 ? await input.load(signal) : null;
    const isInline = bytes !== null && bytes.length <= leftBytes;
    if (isInline) leftBytes -= bytes.length;
    const url = isInline ? new DataUri(input.contentType, bytes) : input.url;
    parts.push({ type: `${kind}_url`, [`${kind}_url`]: { url }, role: input.role });
  }
  return parts;
};
