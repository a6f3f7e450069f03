import type { AppError } from '../kit/errors.ts';
import { randomBase62 } from '../kit/ids.ts';
import type { AccountCall, Services } from './call.ts';

/** A question waits for its answer, and an answer for its call, for so long. */
export const askedMs = 600_000;
const maxOfKey = 20;

/** Where a person lets a call through, below the base URL. Its last part is the id of the asked call. */
export const askedCallPath = '/oauth/calls/';

/** Adds to a refusal the page on which a person can let the call through. The hash names the operation and its input. */
export const askPerson = async (
  error: AppError,
  { operation, callHash }: { operation: string; callHash: () => string },
  { caller, payment, asksForMoney }: AccountCall,
  { store, clock, publicUrl }: Pick<Services, 'store' | 'clock' | 'publicUrl'>,
): Promise<AppError> => {
  const { waits, code } = error;
  const isConfirmable = code === 'confirmation_required';
  if (waits === undefined || !(isConfirmable || (asksForMoney === true && payment === undefined)))
    return error;
  const now = clock.now();
  const { id, answer } = await store.askForCall({
    id: randomBase62(22),
    accountId: caller.accountId,
    keyId: caller.keyId,
    callHash: callHash(),
    operation,
    ...waits,
    expiresAt: now + askedMs,
    now,
    maxOfKey,
  });
  if (isConfirmable && answer === 'declined')
    return error.withMessage(
      'The person declined this call. Do something else, or ask them before you call again.',
    );
  // A page that has its answer shows nothing more.
  return answer === null
    ? error.withMessage(error.message, {}, `${publicUrl()}${askedCallPath}${id}`)
    : error;
};
