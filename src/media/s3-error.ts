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

/** Null for a 404 about the object or, with `code`, about something else of it; a bucket that is not there stays an error. */
export const nullWhenMissing = async <T>(
  promise: Promise<T>,
  code: 'NoSuchKey' | 'NoSuchUpload' = 'NoSuchKey',
): Promise<T | null> => {
  try {
    return await promise;
  } catch (error) {
    // The answer to HEAD has no code.
    const isMissing =
      error instanceof S3Error && error.status === 404 && (error.code === null || error.code === code);
    if (isMissing) return null;
    throw error;
  }
};
