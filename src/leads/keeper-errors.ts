import type { ForgottenSnapshot } from './forgotten-people.ts';
import { LeadKeeperError } from './lead-keeper.ts';

/** Describes a change that failed, for the operator. */
export const changeFailed = (reason: string): string =>
  `The profiles could not be changed (${reason}). Searches use the former profiles.`;

export const busyError = (cause?: unknown): LeadKeeperError =>
  new LeadKeeperError(
    'busy',
    'Another import or change of the profiles is under way. Try again when it has ended.',
    { cause },
  );

/** Throws if the profiles were compared with a list of forgotten people that the store does not have. */
export const checkList = ({ list }: { list: string }, { ids }: Pick<ForgottenSnapshot, 'ids'>): void => {
  if (!ids.includes(list))
    throw new LeadKeeperError(
      'damaged',
      'The store does not have the list of forgotten people that these profiles were compared with. Restore the store and the profiles from one backup, or import all profiles again into an empty place.',
    );
};
