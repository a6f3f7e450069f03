import { atMostEvery } from '../../kit/at-most-every.ts';
import { AppError } from '../../kit/errors.ts';
import type { UpstreamLeadsConfig } from './upstream-settings.ts';
import type { Log } from '../../kit/log.ts';
import type { QueryField } from './query-template.ts';
import { InconclusiveError } from '../inconclusive-error.ts';
import type { LeadQuery, LeadSource } from '../lead-source.ts';
import { createAnswerReader } from './answer-reader.ts';
import { createAskUpstream, isGood, type UpstreamAnswer, type UpstreamRequest } from './ask-upstream.ts';
import { createBlindFilters } from './blind-filters.ts';
import type { DialectName } from './dialects.ts';
import { filtersOf, type FilterField } from './filter-fields.ts';
import type { AnswerToRead, ReadAnswer } from './read-answer.ts';
import { rowsToAsk } from './rows-to-ask.ts';

export interface UpstreamLeadsOptions extends UpstreamLeadsConfig {
  /** For the log. */
  name: string;
  /** The JSON pointer of the list in a good answer. */
  results: string;
  dialect: DialectName;
  toRequest: (query: LeadQuery) => UpstreamRequest;
  /** The fields of the search that its request carries. */
  fieldsSent: (query: LeadQuery) => ReadonlySet<QueryField>;
  /** Whether a bad answer speaks of the search, not of the service. */
  refusesSearch: (answer: UpstreamAnswer) => boolean;
  /** What a bad answer says of itself, for the log: plain words of ours, or null. */
  explain?: (answer: UpstreamAnswer) => string | null;
  log: Log;
}

const logIntervalMs = 60_000;
const usualRetrySeconds = 5;
const longestRetrySeconds = 300;

/**
 * Leads from a service of somebody else, asked anew for each search. Throws AppError `upstream_error` when it does
 * not answer well: in time, with a good status, with JSON in which the list is found, and with at least one profile
 * among the rows where there are any. Only an answer that says that nothing matches is an empty result: one from
 * whose rows that cannot be told, as they lack the field of a filter, were refused, or are not all there are, is an
 * InconclusiveError, and so is a status that refuses this search. Words that its request does not carry are looked for
 * in what it answers.
 */
export const createUpstreamLeads = (options: UpstreamLeadsOptions): LeadSource => {
  const { name, timeoutMs, maxResponseBytes, revision, log } = options;
  const upstream = createAskUpstream({ timeoutMs, maxBytes: maxResponseBytes });
  const reader = createAnswerReader({ timeoutMs });
  const blindFilters = createBlindFilters(options);
  const reportRefused = atMostEvery<{ refused: number; rows: number; firstProblem: string | null }>(
    logIntervalMs,
    (what, leftOut) => log.warn({ source: name, ...what, leftOut }, 'rows of a lead source are no profiles'),
  );

  const ask = async (query: LeadQuery, signal: AbortSignal): Promise<UpstreamAnswer> => {
    try {
      return await upstream.ask(options.toRequest(query), signal);
    } catch (error) {
      signal.throwIfAborted();
      throw unavailable(error);
    }
  };

  const read = async (
    { status, charset, bytes }: UpstreamAnswer,
    { query, rules }: Pick<AnswerToRead, 'query' | 'rules'>,
    signal: AbortSignal,
  ) => {
    if (charset !== null && !unicodeCharsets.has(charset))
      throw unavailable(new Error('the answer is not encoded in UTF-8, as JSON is'));
    try {
      const found = await reader.read({ bytes, query, rules }, signal);
      if (found !== null) return found;
    } catch (error) {
      signal.throwIfAborted();
      throw unavailable(error);
    }
    throw unavailable(new Error(`status ${status} without a list of results`));
  };

  return {
    search: async (query, { signal }) => {
      signal.throwIfAborted();
      const blind = blindFilters.refused(query);
      if (blind !== null) throw notTold(blind, { wasAsked: false });
      const sent = options.fieldsSent(query);
      const rowsAsked = rowsToAsk(query, { sent, filteredRows: options.filteredRows });
      const answer = await ask({ ...query, limit: rowsAsked }, signal);
      if (!isGood(answer.status)) {
        const reason = options.explain?.(answer) ?? null;
        const told = `status ${answer.status}${reason === null ? '' : `: ${reason}`}`;
        throw options.refusesSearch(answer)
          ? new InconclusiveError({ message: awayMessage, cause: told })
          : unavailable(new Error(told), answer.retryAfterSeconds);
      }
      const words = sent.has('query') ? options.words : 'check';
      const found = await read(answer, { query, rules: { ...rulesOf(options), words } }, signal);
      const { leads, profiles, refused, firstProblem } = found;
      const rows = profiles + refused;
      blindFilters.learn(query, found);
      if (refused > 0) reportRefused({ refused, rows, firstProblem });
      if (refused > 0 && profiles === 0) throw unavailable(new Error(`none of ${refused} rows is a profile`));
      if (leads.length === 0 && rows > 0) {
        const reason = doubtOf(found, { query, rowsAsked: sent.has('limit') ? rowsAsked : null });
        if (reason !== null) throw reason;
      }
      return leads;
    },
    status: () => ({ ready: true, synthetic: false, profiles: null, revision }),
    close: async () => {
      await Promise.all([upstream.close(), reader.close()]);
    },
  };
};

/** Of what JSON is read in. */
const unicodeCharsets: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii']);

/** Whatever a source says of a search that it does not answer, its buyer paid nothing and may try again. */
const awayMessage = 'The data source is temporarily unavailable. Try again.';

const rulesOf = ({ results, fields, defaults, maxRows, dialect }: UpstreamLeadsOptions) => ({
  results,
  fields,
  defaults,
  maxRows,
  dialect,
});

/** Why nothing among some rows does not mean that there is nothing; null when it does. */
const doubtOf = (
  { untoldFields, profiles, refused, unread }: ReadAnswer,
  { query, rowsAsked }: { query: LeadQuery; rowsAsked: number | null },
): InconclusiveError | null => {
  const rows = profiles + refused;
  const blind = filtersOf(query).find((field) => untoldFields.includes(field));
  if (blind !== undefined) return notTold(blind);
  if (refused > 0)
    return new InconclusiveError({ cause: `no match, and ${refused} of ${rows} rows refused` });
  // It was told how many it may answer, and had no more.
  if (unread === 0 && rowsAsked !== null && rows < rowsAsked) return null;
  return new InconclusiveError({ cause: `no match in ${rows} rows, and there may be more` });
};

const notTold = (field: FilterField, { wasAsked } = { wasAsked: true }): InconclusiveError =>
  new InconclusiveError({
    wasAsked,
    message: `The data source does not tell the ${field} of its profiles now. Search without ${field}, or try again later.`,
    cause: `no row tells its ${field}, which the search filters by`,
  });

const unavailable = (cause: unknown, retryAfterSeconds: number | null = null): AppError =>
  new AppError('upstream_error', awayMessage, {
    retryAfterSeconds: Math.min(Math.max(1, retryAfterSeconds ?? usualRetrySeconds), longestRetrySeconds),
    cause,
  });
