/** Codes by which S3 asks for another try, whatever their status. */
const temporaryCodes = new Set(['RequestTimeout', 'SlowDown', 'InternalError', 'ServiceUnavailable']);

/** A call to the bucket came to nothing. Holds no credentials, no headers and no text of the service's own but its code. */
export class S3Error extends Error {
  override readonly name = 'S3Error';
  /** Null when no answer came. */
  readonly status: number | null;
  /** S3's code, such as `NoSuchKey`; null when there was none. */
  readonly code: string | null;

  constructor(message: string, facts: { status: number | null; code: string | null; cause?: unknown }) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.status = facts.status;
    this.code = facts.code;
  }

  /** Whether the same call may go well later. */
  get isTemporary(): boolean {
    if (this.status === null || (this.code !== null && temporaryCodes.has(this.code))) return true;
    return this.status === 429 || (this.status >= 500 && this.status !== 501);
  }
}

/**
 * Null for a 404 with this code, which S3 alone writes: one without it may be a proxy's, and tells nothing of the object. The
 * answer to HEAD has none (null), and so proves nothing either.
 */
export const nullWhenMissing = async <T>(
  promise: Promise<T>,
  code: 'NoSuchKey' | 'NoSuchUpload' | null = 'NoSuchKey',
): Promise<T | null> => {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof S3Error && error.status === 404 && error.code === code) return null;
    throw error;
  }
};
