import { z } from 'zod';
import { AppError, KnownFault } from '../kit/errors.ts';
import type { Log } from '../kit/log.ts';
import { revisionBefore, type ForgottenPeople, type ForgottenSnapshot } from './forgotten-people.ts';
import { leadFacets, type FindForgotten, type Lead } from './lead-source.ts';
import { foldingVersion, usernameKey } from './query/fold-text.ts';

/** Profiles to import. */
export interface LeadInput {
  /**
   * Reads from the beginning: checked profiles in the order of the input, in batches of at most a few thousand. An error
   * ends the import before anything becomes visible. Rejects with the reason of `signal`.
   */
  read(options: { signal: AbortSignal }): AsyncIterable<Lead[]>;
}

export interface ImportRequest {
  input: LeadInput;
  /** `upsert` keeps the profiles that the input does not name; `replace` drops them. */
  mode: 'upsert' | 'replace';
  onProgress?: (progress: ImportProgress) => void;
  signal: AbortSignal;
}

export type ImportPhase = 'reading' | 'indexing';

/** The progress of an import, reported a few times a second at most. */
export interface ImportProgress {
  phase: ImportPhase;
  /** Rows read or profiles indexed so far. */
  done: number;
  /** Profiles to index; null while unknown. */
  total: number | null;
}

export interface ImportOutcome {
  /** Rows taken from the input. */
  rows: number;
  added: number;
  updated: number;
  /** Rows that a later row of the same input replaced. */
  repeated: number;
  /** Rows left out because the person asked to be forgotten. */
  forgotten: number;
  /** Profiles that a replacement dropped; null: unknown, as the former profiles could not be read. */
  removed: number | null;
  profiles: number;
}

/** An import that has ended, for reports. */
export interface ImportedProfiles extends Pick<ImportRequest, 'mode'> {
  outcome: ImportOutcome;
  durationMs: number;
}

/** Completes what an import has counted by the number of profiles after it, and before it. */
export const toOutcome = (
  counted: Omit<ImportOutcome, 'removed' | 'profiles'>,
  { mode, profiles, before }: Pick<ImportRequest, 'mode'> & Record<'profiles' | 'before', number>,
): ImportOutcome => ({
  ...counted,
  removed: mode === 'upsert' ? 0 : Math.max(0, before + counted.added - profiles),
  profiles,
});

export interface LeadStats {
  profiles: number;
  /** Whether all profiles are generated and fictional. */
  synthetic: boolean;
  forgotten: number;
  /** Size on the disk, all files together. */
  bytes: number;
  /** Milliseconds since 1970; null when nothing was ever imported. */
  updatedAt: number | null;
  /** Another one with every change of the profiles; null without any. */
  generation: string | null;
}

/**
 * Changes the profiles that gateways search, for the operator's commands. Running gateways see each change within
 * seconds, and never half of one. Errors are LeadIndexError.
 */
export interface LeadIndex {
  /**
   * Imports the profiles of `request.input`. Searches see all of them at once, at the end. An import that ends early, or
   * is killed, changes nothing.
   */
  importLeads(request: ImportRequest): Promise<ImportOutcome>;
  stats(): Promise<LeadStats>;
  /** Returns every profile in the order of results, as of the call. Fictional profiles are left out. */
  exportLeads(options: { signal: AbortSignal }): AsyncIterable<Lead>;
  /**
   * Forgets people for good: no search finds them, their data is erased, and no import brings them back. A digest of
   * each name is kept for that. `removed` is how many of them had a profile.
   */
  forget(usernames: readonly string[], options: { signal: AbortSignal }): Promise<{ removed: number }>;
  /** Finds those of `usernames` who were forgotten. */
  findForgotten: FindForgotten;
  /** Erases forgotten people who are still stored, as after a deletion that ended early. */
  sweep(): Promise<void>;
  /** Allows imports of these people again. `restored` is how many of them had been forgotten. */
  remember(usernames: readonly string[]): Promise<{ restored: number }>;
  close(): Promise<void>;
}

export type LeadIndexProblem =
  /** Another import or change is under way. */
  | 'busy'
  /** The index or the list of forgotten people cannot be read. The message says what to do. */
  | 'damaged'
  | 'failed';

export class LeadIndexError extends KnownFault {
  readonly problem: LeadIndexProblem;

  constructor(problem: LeadIndexProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LeadIndexError';
    this.problem = problem;
  }

  /** The error of an input is the reason, whatever the import made of it. */
  toAppError(): AppError {
    const { cause, problem, message } = this;
    if (cause instanceof AppError) return cause;
    return cause instanceof KnownFault && !(cause instanceof LeadIndexError)
      ? cause.toAppError()
      : new AppError(`leads_${problem}`, message, { cause: this });
  }
}

/** Describes a change that failed, for the operator. */
export const changeFailed = (reason: string): string =>
  `The profiles could not be changed (${reason}). Searches use the former profiles.`;

export const busyError = (): LeadIndexError =>
  new LeadIndexError(
    'busy',
    'Another import or change of the profiles is under way. Try again when it has ended.',
  );

/** What an engine knows of the profiles that are searched. */
export const profileSet = z.object({
  /** Changes with every change. */
  generation: z.string(),
  profiles: z.int(),
  facets: leadFacets,
  /** The version of Unicode that folded the words. */
  folding: z.string(),
  /** The list of forgotten people that the profiles were compared with, and its revision then. */
  list: z.string(),
  swept: z.int(),
  /** Milliseconds since 1970. */
  updatedAt: z.number(),
});

export type ProfileSet = z.output<typeof profileSet>;

/** Throws if the profiles were compared with a list of forgotten people that the store does not have. */
export const checkList = (
  { list }: Pick<ProfileSet, 'list'>,
  { ids }: Pick<ForgottenSnapshot, 'ids'>,
): void => {
  if (!ids.includes(list))
    throw new LeadIndexError(
      'damaged',
      'The store does not have the list of forgotten people that these profiles were compared with. Restore the store and the profiles from one backup, or import all profiles again into an empty place.',
    );
};

/** What a search needs of the list of forgotten people. */
export interface ServeOptions {
  people: Pick<ForgottenPeople, 'read'>;
  /** Erases forgotten people who are still stored. Called where a deletion ended early. */
  sweep: () => Promise<void>;
  log: Log;
}

/** Checks a set before it is searched. Throws as `checkList` does. */
export const checkBeforeServing = async (
  set: ProfileSet,
  { people, sweep, log }: ServeOptions,
): Promise<void> => {
  const forgotten = await people.read();
  checkList(set, forgotten);
  // Answers are filtered by the list meanwhile.
  if (set.swept !== forgotten.revision)
    void sweep().catch((err: unknown) => log.error({ err }, 'forgotten people are not erased yet'));
  if (set.folding !== foldingVersion)
    log.warn(
      'another version indexed the profiles, so rare letters may not be found; the next import indexes them anew',
    );
};

/** People who raised the revision of the list from `before` to `revision`. */
export interface AddedPeople {
  keys: readonly string[];
  revision: number;
  before: number;
}

/** A store of profiles, whose errors `toError` explains. */
export interface IndexEngine extends Pick<LeadIndex, 'importLeads' | 'sweep' | 'close'> {
  stats(): Promise<Omit<LeadStats, 'forgotten'>>;
  /** Yields every profile in the order of results, as of the call. */
  readAll(signal: AbortSignal): AsyncIterable<Lead>;
  /** Deletes the profiles of people. Returns how many had one. */
  erase(added: AddedPeople): Promise<number>;
  /** Explains an error to the operator; `describe` formats a cause that has no message of its own. */
  toError(cause: unknown, describe?: (reason: string) => string): LeadIndexError;
}

/** Makes an index of an engine and the list of forgotten people. */
export const createLeadIndex = (people: ForgottenPeople, engine: IndexEngine): LeadIndex => {
  const { toError } = engine;
  const explained = async <T>(work: Promise<T>, signal?: AbortSignal): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      signal?.throwIfAborted();
      throw toError(error);
    }
  };
  return {
    importLeads: (request) => explained(engine.importLeads(request), request.signal),
    stats: async () => ({ ...(await explained(engine.stats())), forgotten: await explained(people.count()) }),
    async *exportLeads({ signal }) {
      try {
        const { includes } = await people.read();
        for await (const lead of engine.readAll(signal)) if (!includes(lead.username)) yield lead;
      } catch (error) {
        if (signal.aborted) throw error;
        throw toError(error);
      }
    },
    forget: async (usernames, { signal }) => {
      signal.throwIfAborted();
      const revision = await people.add(usernames);
      const before = revisionBefore(revision, usernames);
      try {
        return { removed: await engine.erase({ keys: usernames.map(usernameKey), revision, before }) };
      } catch (error) {
        const cause = toError(error, (reason) => `Some data could not be erased (${reason}).`);
        throw new LeadIndexError(
          cause.problem,
          `${cause.message} Searches no longer find these people, but their profiles are still on the disk. Run the command again.`,
          { cause },
        );
      }
    },
    findForgotten: people.find,
    remember: async (usernames) => ({ restored: await people.remove(usernames) }),
    sweep: () => explained(engine.sweep()),
    close: () => engine.close(),
  };
};
