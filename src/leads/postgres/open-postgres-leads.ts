import type { Worker } from 'node:worker_threads';
import { AppError } from '../../kit/errors.ts';
import type { Log } from '../../kit/log.ts';
import { foldingVersion } from '../query/fold-text.ts';
import type { LeadSource } from '../lead-source.ts';
import type { ForgottenList } from '../without-forgotten.ts';
import { isForgotten, type ForgottenCopy } from './forgotten-copy.ts';
import { keepReading } from './read/keep-reading.ts';
import type { ReadWorkerData, ServedLeads } from './read/messages.ts';
import type { Reader, ReaderLimits } from './read/open-reader.ts';
import { checkSchemaName, leadsSchema } from './schema-name.ts';

export interface PostgresLeadsOptions {
  /** `postgres://` URL. */
  url: string;
  log: Log;
  schema?: string;
  limits?: Partial<PostgresLeadsLimits>;
  /** Starts the thread that searches; tests keep hold of it. */
  startReadWorker?: (workerData: ReadWorkerData) => Worker;
}

export interface PostgresLeads extends LeadSource {
  /** As it was read last, at most a look ago while the database answers; kept while it is away. */
  forgotten: ForgottenList;
}

export interface PostgresLeadsLimits extends ReaderLimits {
  /** Searches at once, each over a connection; there is one more connection, and one more to cancel a statement. */
  connections: number;
  /** How often it is looked whether the data changed, and whether the database answers. */
  lookEveryMs: number;
  /** The wait before a lost thread is replaced, doubled with every further loss. */
  firstRetryMs: number;
  maxRetryMs: number;
}

const usualLimits: PostgresLeadsLimits = {
  connections: 8,
  searches: 64,
  searchTimeoutMs: 5_000,
  stuckAfterMs: 30_000,
  closeTimeoutMs: 2_000,
  lookEveryMs: 1_000,
  firstRetryMs: 100,
  maxRetryMs: 30_000,
};

const nothingServed: ServedLeads = {
  isAnswering: false,
  isFilled: false,
  profiles: 0,
  revision: '',
  folding: '',
};

/**
 * Profiles in PostgreSQL, which any number of gateways share. A thread of its own searches: what it takes to decode and
 * intersect lists keeps nothing else waiting. Resolves at once: it gets ready in the background, and again whenever the
 * database was away or the thread was lost. Rejects with RangeError when `schema` cannot be a name.
 */
export const openPostgresLeads = async ({
  url,
  log,
  schema = leadsSchema,
  limits: given = {},
  startReadWorker,
}: PostgresLeadsOptions): Promise<PostgresLeads> => {
  checkSchemaName(schema);
  const limits = { ...usualLimits, ...given };
  const closing = new AbortController();
  let reader: Reader | null = null;
  let served = nothingServed;
  let forgotten: ForgottenCopy[] = [];

  const reading = keepReading({
    workerData: {
      database: { url, schema },
      connections: limits.connections,
      statementTimeoutMs: limits.searchTimeoutMs,
      lookEveryMs: limits.lookEveryMs,
    },
    limits,
    firstRetryMs: limits.firstRetryMs,
    maxRetryMs: limits.maxRetryMs,
    log,
    signal: closing.signal,
    startWorker: startReadWorker,
    onReader: (next) => {
      reader = next;
      if (next === null) served = { ...served, isAnswering: false };
    },
    onServing: (next) => {
      if (next.isAnswering && !served.isAnswering)
        log.info({ profiles: next.profiles }, 'the leads in PostgreSQL answer');
      if (next.isAnswering && !next.isFilled && !(served.isAnswering && !served.isFilled))
        log.warn(
          'no profiles were imported into PostgreSQL, so every search finds nobody; `leads import` imports them',
        );
      if (next.revision !== served.revision) warnOfOtherFolding(next, log);
      served = next;
    },
    onForgotten: (next) => {
      const others = forgotten.filter(({ salt }) => salt !== next.salt);
      if (others.length > 0)
        log.warn(
          'the list of forgotten people in PostgreSQL is another one than before, as of another database: until the next start nobody on either is given out',
        );
      forgotten = [...others, next].slice(-mostLists);
    },
    onTrouble: (kind, err) => log.warn({ err }, troubles[kind]),
  });

  return {
    search: async (query, { signal }) => {
      signal.throwIfAborted();
      if (closing.signal.aborted) throw cannotAnswer('The search was interrupted. Try again in a moment.');
      if (reader === null || !served.isAnswering)
        throw cannotAnswer('The profiles cannot be reached now. Try again in a moment.');
      if (!served.isFilled) return [];
      return reader.search(query, signal);
    },
    status: () => ({
      ready: served.isAnswering,
      synthetic: false,
      profiles: served.profiles,
      revision: served.revision,
    }),
    forgotten: {
      isKnown: () => forgotten.length > 0,
      find: async (usernames) => {
        const lists = forgotten;
        if (lists.length === 0)
          throw new Error('The list of forgotten people in PostgreSQL was not read yet.');
        return new Set(usernames.filter((username) => lists.some((list) => isForgotten(list, username))));
      },
    },
    close: async () => {
      closing.abort();
      await reader?.close();
      await reading;
    },
  };
};

/** Of databases that stood behind the URL one after the other. */
const mostLists = 4;

const troubles = {
  unanswering: 'the leads in PostgreSQL do not answer',
  'connection-broken': 'a connection to the leads in PostgreSQL broke',
};

const cannotAnswer = (message: string): AppError =>
  new AppError('upstream_error', message, { retryAfterSeconds: 1 });

/** Terms are folded by this process for the query and by another for the profiles: they must fold alike. */
const warnOfOtherFolding = ({ folding, isFilled }: ServedLeads, log: Log): void => {
  if (!isFilled || folding === foldingVersion) return;
  log.warn(
    { found: folding, wanted: foldingVersion },
    'the leads were indexed with another version of Unicode or of the folding: some letters will not be found until they are imported again',
  );
};
