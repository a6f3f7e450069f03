import { revisionBefore, type ForgottenPeople } from './forgotten-people.ts';
import { LeadKeeperError, type LeadKeeper } from './lead-keeper.ts';
import { usernameKey } from './query/username-key.ts';

/** People who raised the revision of the list from `before` to `revision`. */
export interface AddedPeople {
  keys: readonly string[];
  revision: number;
  before: number;
}

export interface KeepForgottenOptions {
  /** Deletes the profiles of people. Returns how many had one. */
  erase(added: AddedPeople): Promise<number>;
  /** Explains an error to the operator; `describe` formats a cause that has no message of its own. */
  toError(cause: unknown, describe: (reason: string) => string): LeadKeeperError;
}

/** The part of a keeper that changes the list of forgotten people, which is the same for every engine. */
export const keepForgotten = (
  people: ForgottenPeople,
  { erase, toError }: KeepForgottenOptions,
): Pick<LeadKeeper, 'forget' | 'findForgotten' | 'remember'> => ({
  forget: async (usernames, { signal }) => {
    signal.throwIfAborted();
    const revision = await people.add(usernames);
    const before = revisionBefore(revision, usernames);
    try {
      return { removed: await erase({ keys: usernames.map(usernameKey), revision, before }) };
    } catch (error) {
      const cause = toError(error, (reason) => `Some data could not be erased (${reason}).`);
      throw new LeadKeeperError(
        cause.problem,
        `${cause.message} Searches no longer find these people, but their profiles are still on the disk. Run the command again.`,
        { cause },
      );
    }
  },
  findForgotten: people.find,
  remember: async (usernames) => ({ restored: await people.remove(usernames) }),
});
