import { AppError } from '../kit/errors.ts';
import { checkUrl } from '../http/check-url.ts';
import { OutboundError, type Outbound, type OutboundFailure } from '../http/outbound.ts';
import { peekStream } from '../kit/peek-stream.ts';
import { isDataUri, readDataUri } from './data-uri-input.ts';
import { refuseInput } from './refuse-input.ts';
import { expectedInput, isDeclaredRight, sniffedBytes, sniffInput, type InputKind } from './sniff-input.ts';

export interface StreamInputOptions {
  kinds: readonly InputKind[];
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
  kind: InputKind;
  /** The type that the first bytes show. */
  contentType: string;
  /**
   * The source for `MediaLibrary.save`. Read a stream to its end, or abort its signal. It throws as `StreamInput` does
   * if it breaks off or grows too large.
   */
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
      return { ...recognise(read.bytes, read.declared, options), source: read.bytes };
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
    return { ...recognise(head, declared, options), source };
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

const recognise = (
  bytes: Uint8Array,
  declared: string | null,
  { kinds, param }: StreamInputOptions,
): { kind: InputKind; contentType: string } => {
  if (bytes.length === 0) throw refuseInput(param, 'is empty');
  const found = sniffInput(bytes.subarray(0, sniffedBytes), kinds);
  if (found === null) throw refuseInput(param, `is not ${expectedInput(kinds)}`);
  if (!isDeclaredRight(declared, found.contentType))
    throw refuseInput(param, `holds ${found.contentType} but is declared as another type`);
  return found;
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
