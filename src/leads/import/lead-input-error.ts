import { AppError, KnownFault } from '../../kit/errors.ts';

/** An input cannot be read further. The message is one sentence with the file, the line if known, and what to do. */
export class LeadInputError extends KnownFault {
  override readonly name = 'LeadInputError';

  toAppError(): AppError {
    return new AppError('input_failed', this.message, { cause: this.cause });
  }
}
