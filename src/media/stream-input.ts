import { AppError } from '../kit/errors.ts';
import { checkUrl } from '../http/check-url.ts';
import { OutboundError, type Outbound, type OutboundFailure } from '../http/outbound.ts';
import { peekStream } from '../kit/streams.ts';
import { isDataUri, readDataUri } from './data-uri.ts';
import { audioContentType, inputImageType, videoContentType } from '../providers/content-type.ts';

export interface StreamInputOptions {
  kind: InputKind;
  maxBytes: number;
  /** The request's field, for refusals, such as `image` or `messages.0.content.1`. */
  param: string;
  /** Time limit from the first step to the last byte. Default: 30 seconds. */
  totalMs?: number;
  signal: AbortSignal;
  /** The account that the download counts for. One account gets only a share of the downloads and their memory. */
  accountId?: string | undefined;
}

export interface StreamedInput {
  /** The type that the first bytes show. */
  contentType: string;
  /** For `MediaLibrary.save`. Read a stream to its end, or abort its signal. It throws as `StreamInput` does. */
  source: Uint8Array | AsyncIterable<Uint8Array>;
}

/**
 * Opens an input from a public `https://` URL or a `data:<mime>;base64,<data>` URI, and checks its first bytes. Throws
 * AppError (`invalid_parameter` with the field; `overloaded`) or the signal's reason.
 */
export type StreamInput = (text: string, options: StreamInputOptions) => Promise<StreamedInput>;

const usualTotalMs = 30_000;

export const createStreamInput =
  ({ download }: { download: Outbound['download'] }): StreamInput =>
  async (text, options) => {
    const { param, signal, maxBytes, accountId } = options;
    signal.throwIfAborted();
    if (isDataUri(text)) return fromDataUri(text, options);
    checkScheme(text, param);
    try {
      const totalMs = options.totalMs ?? usualTotalMs;
      return await fromAnswer(await download(text, { maxBytes, totalMs, signal, accountId }), options);
    } catch (error) {
      throw toRefusal(error, options);
    }
  };

/** Refuses an address that cannot be downloaded from, as far as that is known without looking it up. */
export const checkInputUrl = (
  text: string,
  options: StreamInputOptions,
  settings: { allowsLoopback: boolean },
): void => {
  checkScheme(text, options.param);
  try {
    checkUrl(text, settings);
  } catch (error) {
    throw toRefusal(error, options);
  }
};

const checkScheme = (text: string, param: string): void => {
  if (!/^https?:/i.test(text))
    throw refuseInput(param, 'must be an https:// URL or a data:<mime>;base64,<data> URI');
};

const fromDataUri = async (text: string, options: StreamInputOptions): Promise<StreamedInput> => {
  const { param, maxBytes } = options;
  const read = await readDataUri(text, maxBytes);
  switch (read.outcome) {
    case 'read':
      return { contentType: recognise(read.bytes, read.declared, options), source: read.bytes };
    case 'too_large':
      throw refuseInput(param, tooLarge(maxBytes));
    case 'malformed':
      throw refuseInput(param, 'is not a data URI of the form data:<mime>;base64,<data> in proper base64');
  }
};

const fromAnswer = async (
  { contentType: declared, body }: Awaited<ReturnType<Outbound['download']>>,
  options: StreamInputOptions,
): Promise<StreamedInput> => {
  const { head, body: source, close } = await peekStream(refusingChunks(body, options), sniffedBytes);
  try {
    return { contentType: recognise(head, declared, options), source };
  } catch (error) {
    await close();
    throw error;
  }
};

const refusingChunks = async function* (
  body: AsyncIterable<Uint8Array>,
  options: StreamInputOptions,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw toRefusal(error, options);
  }
};

/** Returns the type that the first bytes show. Throws AppError `invalid_parameter` if it is not the declared one, or none. */
export const recognise = (
  bytes: Uint8Array,
  declared: string | null,
  { kind, param }: Pick<StreamInputOptions, 'kind' | 'param'>,
): string => {
  if (bytes.length === 0) throw refuseInput(param, 'is empty');
  const contentType = contentTypeOf[kind](bytes.subarray(0, sniffedBytes));
  if (contentType === null) throw refuseInput(param, `is not ${expectedInput[kind]}`);
  if (!isDeclaredRight(declared, contentType))
    throw refuseInput(param, `holds ${contentType} but is declared as another type`);
  return contentType;
};

/** Converts the failure of an outbound step into a refusal. Throws the signal's reason after it aborts. */
const toRefusal = (error: unknown, { param, maxBytes, signal }: StreamInputOptions): unknown => {
  signal.throwIfAborted();
  if (!(error instanceof OutboundError)) return error;
  if (error.failure === 'busy')
    return new AppError('overloaded', 'The service is fetching too many inputs. Try again shortly.', {
      cause: error,
    });
  const text = error.failure === 'too_large' ? tooLarge(maxBytes) : failureTexts[error.failure];
  return refuseInput(param, text, error);
};

const tooLarge = (maxBytes: number): string => `is larger than ${Math.floor(maxBytes / 1024 ** 2)} MB`;

const failureTexts: Record<Exclude<OutboundFailure, 'busy' | 'too_large'>, string> = {
  bad_url: 'is not an https:// URL without user name and password',
  loopback:
    'its host is this machine itself, which only a gateway for development with ALLOW_LOOPBACK_URLS=true reads',
  not_public: 'its host is not a public address',
  unresolved: 'its host has no address',
  unreachable: 'its host could not be reached',
  bad_certificate: 'the certificate of its host is not valid',
  timeout: 'its host took too long',
  too_many_redirects: 'its host redirects too often',
  bad_status: 'its host did not answer with a success',
  encoded: 'its host answers with compressed content only',
  broken_off: 'its host broke off the answer',
};

export type InputKind = 'image' | 'video' | 'audio';

/** The types of a kind, for the text of a refusal. */
export const expectedInput: Record<InputKind, string> = {
  image: 'a PNG, JPEG, WebP, GIF or AVIF image',
  video: 'an MP4 or MOV video',
  audio: 'an MP3 or WAV audio file',
};

const contentTypeOf: Record<InputKind, (bytes: Uint8Array) => string | null> = {
  image: inputImageType,
  video: videoContentType,
  audio: audioContentType,
};

/** This number of first bytes identifies every type. */
const sniffedBytes = 4_096;

const aliases = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/pjpeg', 'image/jpeg'],
  ['image/x-png', 'image/png'],
  ['application/mp4', 'video/mp4'],
  ['video/x-m4v', 'video/mp4'],
  ['audio/mp3', 'audio/mpeg'],
  ['audio/x-mpeg', 'audio/mpeg'],
  ['audio/wave', 'audio/wav'],
  ['audio/x-wav', 'audio/wav'],
  ['audio/vnd.wave', 'audio/wav'],
]);

/** Declared types that may contain anything. */
const genericTypes = new Set(['', 'application/octet-stream', 'binary/octet-stream']);

/** MP4 and MOV are one format with two names, which many servers confuse. */
const isoMedia = new Set(['video/mp4', 'video/quicktime']);

/** Tells whether the bytes' type fits the declared content type, which may have parameters or be null. */
const isDeclaredRight = (declared: string | null, contentType: string): boolean => {
  const [essence = ''] = (declared ?? '').split(';');
  const name = essence.trim().toLowerCase();
  if (genericTypes.has(name)) return true;
  const canonical = aliases.get(name) ?? name;
  return canonical === contentType || (isoMedia.has(canonical) && isoMedia.has(contentType));
};

/** Makes the 422 for a refused input. `text` follows the field's name, and never contains text of a server. */
export const refuseInput = (param: string, text: string, cause?: unknown): AppError =>
  new AppError('invalid_parameter', `${param}: ${text}`, {
    param,
    issues: [{ loc: ['body', ...toPath(param)], msg: text, type: 'value_error' }],
    cause,
  });

/** Converts `messages.0.content` to a path. Whole numbers are array indices. */
const toPath = (param: string): (string | number)[] =>
  param.split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key));
