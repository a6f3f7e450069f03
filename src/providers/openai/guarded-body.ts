import type { Dispatcher } from 'undici';
import { ProviderError } from '../provider-error.ts';
import type { Deadlines } from './deadlines.ts';

export interface BodyLimits {
  /** The most bytes of one answer. */
  totalBytes: number;
  /** The most bytes without a line feed; null for answers that are not lines. */
  lineBytes: number | null;
}

/** How much of an answer that nobody wants is read away, so that its connection can be used again. */
const leftover = { bytes: 65_536, ms: 1_000 };

/**
 * The chunks of an upstream answer, within its deadlines and limits. Throws ProviderError or the caller's
 * abort reason; a reader that stops early leaves the connection to be used again when little is left to read.
 */
export const guardedBody = async function* (
  body: Dispatcher.ResponseData['body'],
  deadlines: Deadlines,
  limits: BodyLimits,
): AsyncGenerator<Buffer, void, undefined> {
  let hasFailed = true;
  let totalBytes = 0;
  let lineBytes = 0;
  // Destroyed when its last byte has come already, a body fails although nobody reads it any more.
  body.on('error', () => undefined);
  try {
    const chunks: AsyncIterable<Buffer> = body.iterator({ destroyOnReturn: false });
    for await (const chunk of chunks) {
      deadlines.touch();
      totalBytes += chunk.length;
      const lastLineFeed = chunk.lastIndexOf(10);
      lineBytes = lastLineFeed < 0 ? lineBytes + chunk.length : chunk.length - lastLineFeed - 1;
      if (totalBytes > limits.totalBytes || (limits.lineBytes !== null && lineBytes > limits.lineBytes))
        throw new ProviderError('the upstream answer is too large', {
          failure: 'ambiguous',
          code: 'upstream_error',
        });
      hasFailed = false;
      yield chunk;
      hasFailed = true;
    }
    hasFailed = false;
  } catch (error) {
    throw brokenBody(error, deadlines.signal);
  } finally {
    deadlines.end();
    if (hasFailed || deadlines.signal.aborted) body.destroy();
    else void readAway(body);
  }
};

const brokenBody = (error: unknown, signal: AbortSignal): unknown => {
  if (signal.aborted) return signal.reason;
  if (error instanceof ProviderError) return error;
  return new ProviderError('the upstream connection broke during the answer', {
    failure: 'ambiguous',
    code: 'upstream_error',
    cause: error,
  });
};

const readAway = async (body: Dispatcher.ResponseData['body']): Promise<void> => {
  try {
    await body.dump({ limit: leftover.bytes, signal: AbortSignal.timeout(leftover.ms) });
  } catch {
    // The answer is complete by now; a connection that cannot be used again is no failure.
    body.destroy();
  }
};
