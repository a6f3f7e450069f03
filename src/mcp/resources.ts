import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  type ReadResourceResult,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { AppError, toAppError } from '../kit/errors.ts';
import type { JsonObject } from '../kit/json.ts';
import { toJsonText } from '../kit/json-text.ts';
import { logFailure } from '../kit/log-failure.ts';
import { isGone } from '../media/is-gone.ts';
import { execute } from '../operations/execute.ts';
import { findVideo } from '../operations/videos/find-video.ts';
import { refundLostVideo } from '../operations/videos/refund-lost-video.ts';
import type { AccountCall, Operation, Services } from '../operations/operation.ts';
import type { Media } from '../store/store.ts';
import { toErrorResult } from './tool-result.ts';
import type { Visitor } from './visitor.ts';

/** Models, jobs and media of the account as MCP resources, each through the operation that a tool would use. */
export interface Resources {
  list(visitor: Visitor, signal: AbortSignal): Promise<ListResourcesResult>;
  templates(visitor: Visitor): ListResourceTemplatesResult;
  read(uri: string, visitor: Visitor, signal: AbortSignal): Promise<ReadResourceResult>;
}

/** Media above this are not put into a message; they are downloaded from their address. */
const largestBlobBytes = 8 * 1024 ** 2;
/** What a medium in a message costs of memory for each of its bytes: as it came, in base64, in JSON, as sent. */
const costPerByte = 6;
const newestJobs = 20;
const json = 'application/json';

const historySchema = z.object({
  data: z.array(z.object({ id: z.string(), kind: z.string(), status: z.string() })),
});

export const createResources = (operations: readonly Operation[], services: Services): Resources => {
  const { store, media: library, accountLimiter, clock, publicUrl } = services;
  const scheme = `${services.config.brand}://`;

  const runJson = async (name: string, input: object, call: AccountCall): Promise<JsonObject> => {
    const operation = operations.find((candidate) => candidate.name === name);
    if (operation === undefined) throw new Error(`there is no operation ${name}`);
    const answer = await execute(operation, input, call, services);
    if (answer.kind !== 'json') throw new Error(`${name} answered ${answer.kind}`);
    return answer.body;
  };

  const asJson = async (uri: string, name: string, input: object, call: AccountCall) => ({
    contents: [{ uri, mimeType: json, text: toJsonText(await runJson(name, input, call)) }],
  });

  const asBlob = async (
    uri: string,
    media: Media,
    { visitor, call }: Reading,
    whenMissing: () => Promise<AppError> = () => Promise.resolve(unread(media.id)),
  ): Promise<ReadResourceResult> => {
    if (isGone(media, clock.now()))
      throw new AppError('content_expired', 'This was kept for its time and is gone. Make it again.');
    if (media.sizeBytes > largestBlobBytes)
      throw new AppError(
        'invalid_parameter',
        `This resource has ${media.sizeBytes} bytes, too many for a message. Download it: GET ${uri}` +
          (media.role === 'image' ? '' : ' with the API key as bearer token'),
      );
    await visitor.memory.take(media.sizeBytes * costPerByte, call.signal);
    const stream = await library.read(media.id, { signal: call.signal });
    if (stream === null) throw await whenMissing();
    const bytes = Buffer.concat(await stream.toArray({ signal: call.signal }));
    return { contents: [{ uri, mimeType: media.contentType, blob: bytes.toString('base64') }] };
  };

  /** An image by its result URL; of another account it is not there. */
  const readImage = async (uri: string, id: string, reading: Reading): Promise<ReadResourceResult> => {
    const { caller } = reading.call;
    await accountLimiter.consume(caller);
    const media = await store.getMedia(id);
    const isTheirs =
      media !== null &&
      media.accountId === caller.accountId &&
      media.jobId !== null &&
      media.role === 'image' &&
      library.urlOf(media) === uri;
    if (!isTheirs) throw new ResourceNotFoundError(uri);
    return asBlob(uri, media, reading);
  };

  const readVideo = async (
    uri: string,
    { videoId, variant }: { videoId: string; variant: string },
    reading: Reading,
  ): Promise<ReadResourceResult> => {
    // It refuses what is not theirs, not completed, not made or gone.
    await runJson('get_video_content', { video_id: videoId, variant }, reading.call);
    const media = (await store.listMedia(videoId.toLowerCase())).find(({ role }) => role === variant);
    if (media === undefined) throw new ResourceNotFoundError(uri);
    const { accountId } = reading.call.caller;
    const job = await findVideo(services, { videoId, accountId });
    return variant === 'video'
      ? asBlob(uri, media, reading, () => refundLostVideo(job, media, services))
      : asBlob(uri, media, reading);
  };

  const readOwn = async (uri: string, reading: Reading): Promise<ReadResourceResult> => {
    const { call } = reading;
    const [, kind, id] = /^(models|jobs)(?:\/([^/?#]{1,256}))?$/.exec(afterStart(uri, scheme) ?? '') ?? [];
    if (kind === 'models' && id === undefined) return asJson(uri, 'list_models', {}, call);
    if (kind === 'models') return asJson(uri, 'get_model', { model: decode(id) }, call);
    if (kind === 'jobs' && id !== undefined) return asJson(uri, 'get_job', { job_id: id }, call);
    const path = afterStart(uri, `${publicUrl()}/`) ?? '';
    const mediaId = /^results\/([0-9A-Za-z]{20,64})\.[0-9a-z]{2,4}$/.exec(path)?.[1];
    if (mediaId !== undefined) return readImage(uri, mediaId, reading);
    const [, videoId, variant = 'video'] =
      /^v1\/videos\/([^/?#]{1,128})\/content(?:\?variant=(video|last_frame))?$/.exec(path) ?? [];
    if (videoId !== undefined) return readVideo(uri, { videoId, variant }, reading);
    throw new ResourceNotFoundError(uri);
  };

  return {
    list: async (visitor, signal) => {
      try {
        const call = await toCall(visitor, signal);
        if (call === null) return { resources: [] };
        const { data } = historySchema.parse(await runJson('list_jobs', { limit: newestJobs }, call));
        return {
          resources: [
            { uri: `${scheme}models`, name: 'models', title: 'Models and prices', mimeType: json },
            ...data.map((job) => ({
              uri: `${scheme}jobs/${job.id}`,
              name: job.id,
              title: `${job.kind} job, ${job.status}`,
              mimeType: json,
            })),
          ],
        };
      } catch (thrown) {
        throw toProtocolError(`${scheme}jobs`, thrown, { signal, services });
      }
    },
    templates: ({ hasKey }) => ({
      resourceTemplates: hasKey
        ? [
            { uriTemplate: `${scheme}models/{model}`, name: 'model', title: 'A model', mimeType: json },
            { uriTemplate: `${scheme}jobs/{job_id}`, name: 'job', title: 'A job', mimeType: json },
            {
              uriTemplate: `${publicUrl()}/results/{name}`,
              name: 'result',
              title: 'An image of a job',
            },
            {
              uriTemplate: `${publicUrl()}/v1/videos/{video_id}/content{?variant}`,
              name: 'video',
              title: 'The content of a completed video, or with variant=last_frame its last frame',
            },
          ]
        : [],
    }),
    read: async (uri, visitor, signal) => {
      try {
        const call = await toCall(visitor, signal);
        if (call === null)
          throw new AppError('invalid_api_key', `Resources need an API key. ${visitor.keyHint}`);
        return await readOwn(uri, { visitor, call });
      } catch (thrown) {
        throw toProtocolError(uri, thrown, { signal, services });
      }
    },
  };
};

/** Who reads, for the operations and for the limits of an answer. */
interface Reading {
  visitor: Visitor;
  call: AccountCall;
}

const unread = (mediaId: string): AppError =>
  new AppError('upstream_error', 'The content could not be read. Try again.', {
    cause: new Error(`the bytes of ${mediaId} are missing`),
  });

const afterStart = (text: string, start: string): string | null =>
  text.startsWith(start) ? text.slice(start.length) : null;

const decode = (text: string | undefined): string => {
  try {
    return decodeURIComponent(text ?? '');
  } catch {
    // Not a percent-encoding: the text as it stands names nothing.
    return text ?? '';
  }
};

const toCall = async (visitor: Visitor, signal: AbortSignal): Promise<AccountCall | null> => {
  const caller = await visitor.caller();
  return caller === null
    ? null
    : {
        transport: 'mcp',
        requestId: visitor.requestId(),
        caller,
        clientAddress: visitor.clientAddress,
        idempotencyKey: null,
        proofs: null,
        memory: visitor.memory,
        signal,
      };
};

/** What is not there, or not theirs, is one error; every other refusal carries its envelope as a tool error does. */
const toProtocolError = (
  uri: string,
  thrown: unknown,
  { signal, services: { log } }: { signal: AbortSignal; services: Services },
): ProtocolError => {
  if (thrown instanceof ProtocolError) return thrown;
  const error = toAppError(thrown);
  if (error.status === 404) return new ResourceNotFoundError(uri);
  const code =
    error.status >= 500 || error.status === 429
      ? ProtocolErrorCode.InternalError
      : ProtocolErrorCode.InvalidParams;
  logFailure(log, error, { what: 'reading a resource', facts: { uri }, isClientGone: signal.aborted });
  return new ProtocolError(code, error.message, toErrorResult(error).structuredContent);
};
