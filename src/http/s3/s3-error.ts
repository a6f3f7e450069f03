/** S3's codes that mean "try again", with any status. */
const temporaryCodes = new Set(['RequestTimeout', 'SlowDown', 'InternalError', 'ServiceUnavailable']);

/** A failed call to the bucket. Contains no credentials, no headers, and of the service's text only its code. */
export class S3Error extends Error {
  override readonly name = 'S3Error';
  /** Null if no answer came. */
  readonly status: number | null;
  /** S3's code, such as `NoSuchKey`; null if there was none. */
  readonly code: string | null;

  constructor(message: string, facts: { status: number | null; code: string | null; cause?: unknown }) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.status = facts.status;
    this.code = facts.code;
  }

  /** True if the same call may succeed later. */
  get isTemporary(): boolean {
    if (this.status === null || (this.code !== null && temporaryCodes.has(this.code))) return true;
    return this.status === 429 || (this.status >= 500 && this.status !== 501);
  }
}

/**
 * Resolves with null on a 404 with this code, which only S3 writes. A 404 without a code may come from a proxy and
 * proves nothing about the object. The answer to HEAD never has a code (null), so it proves nothing either.
 */
export const nullWhenMissing = async <T>(
  promise: Promise<T>,
  code: 'NoSuchKey' | null = 'NoSuchKey',
): Promise<T | null> => {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof S3Error && error.status === 404 && error.code === code) return null;
    throw error;
  }
};
