import {
  ProtocolError,
  ResourceNotFoundError,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  type ReadResourceResult,
} from '@modelcontextprotocol/server';
import { AppError, toAppError } from '../kit/errors.ts';
import { toJsonText } from '../kit/json.ts';
import { withoutKeys } from '../kit/log-request.ts';
import { createPathMatcher } from '../kit/path-matcher.ts';
import { isGone } from '../media/media-library.ts';
import type { ContentAnswer } from '../operations/answer.ts';
import { execute } from '../operations/execute.ts';
import { answerSaleOf, rulesOf } from '../operations/sale-rules.ts';
import type { AccountCall, Call, Services } from '../operations/call.ts';
import type { Operation, ResourceBinding } from '../operations/definition.ts';
import { toProtocolFault } from './tool-result.ts';
import { toCall, type MessageContext } from './call-tool.ts';
import type { McpIdentity } from './tool-list.ts';
import { isIn } from './tool-list.ts';
import { morePath } from '../operations/answer.ts';
import { getJob } from '../operations/jobs/get-job.ts';
import { admit, countAccountCall } from '../operations/prepaid.ts';
import { admitByProof, type ProofCall } from '../operations/read-by-proof.ts';
import { readMoreRows } from '../operations/read-more-rows.ts';
import { hasProof } from '../payments/sale/gate.ts';
import { createReadView, findView } from './views.ts';

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
  match: ReturnType<typeof createPathMatcher>;
}

const toReadable = (operation: Operation): Readable[] => {
  const { resource, rest } = operation;
  if (resource === undefined) return [];
  const template = resource.path ?? rest.path.slice(1);
  return [{ operation, resource, template, match: createPathMatcher(template) }];
};

/** Finds the resource at an address, with the input fields that the address names. */
const findResource = (readables: readonly Readable[], address: string) => {
  for (const { operation, match } of readables) {
    const fields = match(address);
    if (fields !== null) return { operation, fields };
  }
  return null;
};

const isOpen = (found: Pick<Readable, 'operation'> | null): boolean =>
  found !== null && rulesOf(found.operation.sale).isOpen;

/** Whether a read comes with a payment proof in place of a key. */
const isByProof = (call: Call, { config }: Services): call is ProofCall =>
  config.wallets.isOn && call.caller === null && hasProof(call.proofs);

/** Returns a function that finds the rows of an answer at an address. */
const createFindRows = (operations: readonly Operation[], scheme: string) => {
  const match = createPathMatcher(morePath);
  return (uri: string) => {
    const { operation: name, id = '', last = '' } = match(afterStart(uri, scheme) ?? '') ?? {};
    const operation = operations.find((one) => one.name === name && answerSaleOf(one.sale) !== null);
    return operation === undefined || !/^[1-9]\d{0,5}$/.test(last)
      ? null
      : { uri, operation, id, last: Number(last) };
  };
};

const readRows = async (
  { uri, ...rows }: NonNullable<ReturnType<ReturnType<typeof createFindRows>>>,
  call: Call,
  { identity: { group }, services }: { identity: McpIdentity; services: Services },
): Promise<ReadResourceResult> => {
  const found = isIn(group, rows.operation) ? await readMoreRows(rows, call, services) : null;
  if (found === null) throw new ResourceNotFoundError(uri);
  return { contents: [{ uri, mimeType: 'text/plain', text: found.text }] };
};

/** Models, jobs and media of the account as MCP resources, each through the operation that a tool would use. */
export const createResources = (operations: readonly Operation[], services: Services) => {
  const { publicUrl } = services;
  const scheme = `${services.config.brand}://`;
  const readables = operations.flatMap(toReadable);
  const documents = readables.filter(({ resource }) => resource.path !== null);
  const downloads = readables.filter(({ resource }) => resource.path === null);
  const readView = createReadView(publicUrl);
  const findRows = createFindRows(operations, scheme);
  const read = createReader({ scheme, documents, downloads }, services);

  return {
    list: async (identity: McpIdentity, message: MessageContext): Promise<ListResourcesResult> => {
      try {
        const { caller, ...call } = await toReadingCall(identity, message);
        if (caller !== null) await countAccountCall(caller, services);
        const shown = documents.filter(
          ({ operation }) =>
            isIn(identity.group, operation) && (caller !== null || rulesOf(operation.sale).isOpen),
        );
        const listed = shown.map(async ({ resource, template }) =>
          template.includes('{')
            ? ((caller === null ? null : await resource.list?.({ ...call, caller }, services)) ?? [])
            : [{ path: template, name: resource.name, title: resource.title }],
        );
        return {
          resources: (await Promise.all(listed))
            .flat()
            .map(({ path, ...shown }) => ({ uri: `${scheme}${path}`, ...shown, mimeType: json })),
        };
      } catch (thrown) {
        throw toProtocolError(`${scheme}jobs`, thrown, { signal: message.signal, services });
      }
    },
    /** Returns what a connection must allow to read a resource; null: it is shown to anybody. */
    scopeFor: (uri: string): 'search' | 'read' | null => {
      if (findView(uri) !== null || isOpen(findResource(documents, afterStart(uri, scheme) ?? '')))
        return null;
      return findRows(uri) === null ? 'read' : 'search';
    },
    templates: ({ hasKey, group }: McpIdentity): ListResourceTemplatesResult => ({
      resourceTemplates:
        hasKey && group !== 'search'
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
    /** Reads a resource. A view has no data, so anybody may read it. The list leaves views out, because the tools name them. */
    read: async (
      uri: string,
      identity: McpIdentity,
      message: MessageContext,
    ): Promise<ReadResourceResult> => {
      try {
        const view = findView(uri);
        if (view !== null) return await readView(view);
        const rows = findRows(uri);
        const call = await toReadingCall(identity, message, rows === null ? 'read' : 'search');
        return await (rows === null
          ? read(uri, call, identity)
          : readRows(rows, call, { identity, services }));
      } catch (thrown) {
        throw toProtocolError(uri, thrown, { signal: message.signal, services });
      }
    },
  };
};

/** Returns a function that reads the resource at an address of ours. */
const createReader = (
  { scheme, documents, downloads }: { scheme: string; documents: Readable[]; downloads: Readable[] },
  services: Services,
) => {
  const { store, media: library, clock, publicUrl, films } = services;
  const { brand } = services.config;

  const asBlob = async (
    uri: string,
    media: ContentAnswer['media'],
    { memory, signal }: Call,
    whenMissing: () => Promise<AppError> = () => Promise.resolve(unread(media.id)),
  ): Promise<ReadResourceResult> => {
    if (isGone(media, clock.now()))
      throw new AppError('content_expired', 'This was kept for its time and is gone. Make it again.');
    if (media.sizeBytes > largestBlobBytes)
      throw new AppError(
        'invalid_parameter',
        `This resource has ${media.sizeBytes} bytes, too many for a message. Download it: GET ${uri}` +
          (media.role === 'image' || uri.includes('/films/') ? '' : ' with the API key as bearer token'),
      );
    await memory.take(media.sizeBytes * costPerByte, signal);
    const stream = await library.read(media.id, { sizeBytes: media.sizeBytes, signal });
    if (stream === null) throw await whenMissing();
    const bytes = Buffer.concat(await stream.toArray({ signal }));
    return { contents: [{ uri, mimeType: media.contentType, blob: bytes.toString('base64') }] };
  };

  /** Reads an image by its result URL. An image of another account is not there. */
  const readImage = async (uri: string, id: string, call: Call): Promise<ReadResourceResult> => {
    const { caller, bought }: Pick<AccountCall, 'caller' | 'bought'> = isByProof(call, services)
      ? await admitByProof(getJob, call, services)
      : await admit(call, services);
    const media = await store.getMedia(id);
    const isTheirs =
      media !== null &&
      media.accountId === caller.accountId &&
      media.jobId !== null &&
      (bought === undefined || media.jobId === bought.jobId) &&
      media.role === 'image' &&
      library.urlOf(media) === uri;
    if (!isTheirs) throw new ResourceNotFoundError(uri);
    return asBlob(uri, media, call);
  };

  return async (
    uri: string,
    call: Call,
    { group, keyHint }: Pick<McpIdentity, 'group' | 'keyHint'>,
  ): Promise<ReadResourceResult> => {
    const address = afterStart(uri, `${publicUrl()}/`);
    const { caller } = call;
    const mediaId = /^results\/([0-9A-Za-z]{20,64})\.[0-9a-z]{2,4}$/.exec(address ?? '')?.[1];
    const isAdmitted = caller !== null || isByProof(call, services);
    if (mediaId !== undefined && isAdmitted) return readImage(uri, mediaId, call);
    const [named = '', query] = address?.split('?', 2) ?? [];
    const film = named.startsWith('films/') ? films.jobIdOf(named.slice('films/'.length)) : null;
    const path = film === null ? named : `v1/videos/${film}/content`;
    const found =
      address === null
        ? findResource(documents, afterStart(uri, scheme) ?? '')
        : findResource(downloads, path);
    if (!isAdmitted && !isOpen(found))
      throw new AppError('invalid_api_key', `This resource needs an API key. ${keyHint}`);
    if (found === null || !isIn(group, found.operation)) throw new ResourceNotFoundError(uri);
    const { operation, fields } = found;
    // Over MCP an operation answers the address of bytes; over REST it answers the bytes.
    const answer = await execute(
      operation,
      { ...Object.fromEntries(new URLSearchParams(query)), ...fields },
      address === null ? call : { ...call, transport: 'rest' },
      services,
    );
    if (answer.kind === 'content') return asBlob(uri, answer.media, call, answer.whenMissing);
    if (answer.kind !== 'json') throw new Error(`${operation.name} answered ${answer.kind}`);
    const mark = answer.isSandbox ? { _meta: { [`${brand}/sandbox`]: true } } : {};
    return { contents: [{ uri, mimeType: json, text: toJsonText(answer.body), ...mark }] };
  };
};

const unread = (mediaId: string): AppError =>
  new AppError('upstream_error', 'The content could not be read. Try again.', {
    cause: new Error(`the bytes of ${mediaId} are missing`),
  });

const afterStart = (text: string, start: string): string | null =>
  text.startsWith(start) ? text.slice(start.length) : null;

/** A connection that lacks the scope has what strangers have. */
const toReadingCall = async (
  identity: McpIdentity,
  message: MessageContext,
  scope: 'search' | 'read' = 'read',
): Promise<Call> => {
  const call = await toCall(identity, message);
  return {
    ...call,
    caller: call.caller?.scopes?.includes(scope) === false ? null : call.caller,
    proofs: identity.group === 'directory' ? null : { meta: message._meta?.['x402/payment'] },
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
  if (!(thrown instanceof ProtocolError)) {
    const { status, issues } = toAppError(thrown);
    if (status === 404 || issues !== undefined) return new ResourceNotFoundError(uri);
  }
  return toProtocolFault(thrown, {
    what: 'reading a resource',
    facts: { uri: withoutKeys(uri) },
    signal,
    log,
  });
};
