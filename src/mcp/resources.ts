import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  type ReadResourceResult,
} from '@modelcontextprotocol/server';
import { AppError, toAppError } from '../kit/errors.ts';
import { toJsonText } from '../kit/json-text.ts';
import { logFailure } from '../kit/log-failure.ts';
import { isGone } from '../media/is-gone.ts';
import { execute } from '../operations/execute.ts';
import type { AccountCall, Operation, ResourceBinding, Services } from '../operations/operation.ts';
import type { Media } from '../store/store.ts';
import { toErrorResult } from './tool-result.ts';
import type { McpIdentity } from './mcp-identity.ts';

/** Models, jobs and media of the account as MCP resources, each through the operation that a tool would use. */
export interface Resources {
  list(identity: McpIdentity, signal: AbortSignal): Promise<ListResourcesResult>;
  templates(identity: McpIdentity): ListResourceTemplatesResult;
  read(uri: string, identity: McpIdentity, signal: AbortSignal): Promise<ReadResourceResult>;
}

/** Media above this are not put into a message; they are downloaded from their address. */
const largestBlobBytes = 8 * 1024 ** 2;
/** What a medium in a message costs of memory for each of its bytes: as it came, in base64, in JSON, as sent. */
const costPerByte = 6;
const json = 'application/json';

/** An operation whose answer is a resource. */
interface Readable {
  operation: Operation;
  resource: ResourceBinding;
  /** The address of a JSON answer below the brand's scheme, or of bytes below the public address. */
  template: string;
  pattern: RegExp;
}

const toReadable = (operation: Operation): Readable[] => {
  const { resource, rest } = operation;
  if (resource === undefined) return [];
  const template = resource.path ?? rest.path.slice(1);
  const pattern = new RegExp(`^${template.replace(/\{(\w+)\}/g, '(?<$1>[^/?#]+)')}$`);
  return [{ operation, resource, template, pattern }];
};

export const createResources = (operations: readonly Operation[], services: Services): Resources => {
  const { store, media: library, accountLimiter, clock, publicUrl } = services;
  const scheme = `${services.config.brand}://`;

  const readables = operations.flatMap(toReadable);
  const documents = readables.filter(({ resource }) => resource.path !== null);
  const downloads = readables.filter(({ resource }) => resource.path === null);

  const asBlob = async (
    uri: string,
    media: Media,
    { identity, call }: Reading,
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
    await identity.memory.take(media.sizeBytes * costPerByte, call.signal);
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

  const readDocument = async (uri: string, { call }: Reading): Promise<ReadResourceResult> => {
    const found = matchAddress(documents, afterStart(uri, scheme) ?? '');
    if (found === null) throw new ResourceNotFoundError(uri);
    const answer = await execute(found.operation, found.fields, call, services);
    if (answer.kind !== 'json') throw new Error(`${found.operation.name} answered ${answer.kind}`);
    return { contents: [{ uri, mimeType: json, text: toJsonText(answer.body) }] };
  };

  const readOwn = async (uri: string, reading: Reading): Promise<ReadResourceResult> => {
    const address = afterStart(uri, `${publicUrl()}/`);
    if (address === null) return readDocument(uri, reading);
    const mediaId = /^results\/([0-9A-Za-z]{20,64})\.[0-9a-z]{2,4}$/.exec(address)?.[1];
    if (mediaId !== undefined) return readImage(uri, mediaId, reading);
    const [path = '', query] = address.split('?', 2);
    const found = matchAddress(downloads, path);
    if (found === null) throw new ResourceNotFoundError(uri);
    const fields = { ...Object.fromEntries(new URLSearchParams(query)), ...found.fields };
    // Over MCP the operation answers the address; over REST it answers the bytes.
    const call = { ...reading.call, transport: 'rest' as const };
    const answer = await execute(found.operation, fields, call, services);
    if (answer.kind !== 'content') throw new Error(`${found.operation.name} answered ${answer.kind}`);
    return asBlob(uri, answer.media, reading, answer.whenMissing);
  };

  return {
    list: async (identity, signal) => {
      try {
        const call = await toCall(identity, signal);
        if (call === null) return { resources: [] };
        await accountLimiter.consume(call.caller);
        const listed = documents.map(async ({ resource, template }) =>
          template.includes('{')
            ? ((await resource.list?.(call, services)) ?? [])
            : [{ path: template, name: resource.name, title: resource.title }],
        );
        return {
          resources: (await Promise.all(listed))
            .flat()
            .map(({ path, ...shown }) => ({ uri: `${scheme}${path}`, ...shown, mimeType: json })),
        };
      } catch (thrown) {
        throw toProtocolError(`${scheme}jobs`, thrown, { signal, services });
      }
    },
    templates: ({ hasKey }) => ({
      resourceTemplates: hasKey
        ? [
            ...documents
              .filter(({ template }) => template.includes('{'))
              .map(({ template, resource: { name, title } }) => ({
                uriTemplate: `${scheme}${template}`,
                name,
                title,
                mimeType: json,
              })),
            { uriTemplate: `${publicUrl()}/results/{name}`, name: 'result', title: 'An image of a job' },
            ...downloads.map(({ template, operation, resource: { name, title } }) => ({
              uriTemplate: `${publicUrl()}/${template}{?${operation.rest.query.join(',')}}`,
              name,
              title,
            })),
          ]
        : [],
    }),
    read: async (uri, identity, signal) => {
      try {
        const call = await toCall(identity, signal);
        if (call === null)
          throw new AppError('invalid_api_key', `Resources need an API key. ${identity.keyHint}`);
        return await readOwn(uri, { identity, call });
      } catch (thrown) {
        throw toProtocolError(uri, thrown, { signal, services });
      }
    },
  };
};

type Reading = { identity: McpIdentity; call: AccountCall };

const unread = (mediaId: string): AppError =>
  new AppError('upstream_error', 'The content could not be read. Try again.', {
    cause: new Error(`the bytes of ${mediaId} are missing`),
  });

const afterStart = (text: string, start: string): string | null =>
  text.startsWith(start) ? text.slice(start.length) : null;

/** Finds the resource at an address, with the input fields that the address names. */
const matchAddress = (
  readables: readonly Readable[],
  address: string,
): { operation: Operation; fields: Record<string, string> } | null => {
  for (const { operation, pattern } of readables) {
    const match = pattern.exec(address);
    if (match === null) continue;
    const fields = Object.entries(match.groups ?? {}).map(([name, text]) => [name, decode(text)]);
    return { operation, fields: Object.fromEntries(fields) as Record<string, string> };
  }
  return null;
};

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not a percent-encoding: the text as it stands names nothing.
    return text;
  }
};

const toCall = async (identity: McpIdentity, signal: AbortSignal): Promise<AccountCall | null> => {
  const caller = await identity.caller();
  return caller === null
    ? null
    : {
        transport: 'mcp',
        requestId: identity.requestId(),
        caller,
        clientAddress: identity.clientAddress,
        idempotencyKey: null,
        proofs: null,
        memory: identity.memory,
        signal,
      };
};

/**
 * Turns what is not there, what is not theirs and an address with a wrong field into one error. Every other refusal
 * carries its envelope as a tool error does.
 */
const toProtocolError = (
  uri: string,
  thrown: unknown,
  { signal, services: { log } }: { signal: AbortSignal; services: Services },
): ProtocolError => {
  if (thrown instanceof ProtocolError) return thrown;
  const error = toAppError(thrown);
  if (error.status === 404 || error.issues !== undefined) return new ResourceNotFoundError(uri);
  const code =
    error.status >= 500 || error.status === 429
      ? ProtocolErrorCode.InternalError
      : ProtocolErrorCode.InvalidParams;
  logFailure(log, error, { what: 'reading a resource', facts: { uri }, isClientGone: signal.aborted });
  return new ProtocolError(code, error.message, toErrorResult(error).structuredContent);
};
