import { z } from 'zod';
import type { HttpClient } from '../../http/http-client.ts';
import type { PayFor } from '../../http/pay-settings.ts';
import { AppError } from '../../kit/errors.ts';
import type { Log } from '../../kit/log.ts';
import { createThreadPool } from '../../kit/threads/thread-pool.ts';
import { repeat, throttle } from '../../kit/repeat.ts';
import { toFacets } from '../facets.ts';
import { parseJson } from '../../kit/json.ts';
import { InconclusiveError } from '../search-errors.ts';
import type { LeadFacets, LeadQuery, LeadSource } from '../lead-source.ts';
import { createAskUpstream, isGood, type UpstreamAnswer, type UpstreamRequest } from './ask-upstream.ts';
import type { HttpLeadsConfig } from './http-source.ts';
import { fieldsSearched } from './query-template.ts';
import { readAnswer, type AnswerToRead, type ReadAnswer } from './read-answer.ts';
import { filtersOf, type FilterField } from './to-leads.ts';
import { createUnsupportedFilters } from './unsupported-filters.ts';

/** Statuses that concern the search, not the service. */
const refusals: ReadonlySet<number> = new Set([400, 413, 414, 422]);
const logIntervalMs = 60_000;
/** Counting all profiles costs the service more than a search. */
const facetsMs = 600_000;
const defaultRetrySeconds = 5;
const maxRetrySeconds = 300;

/**
 * Leads from a configured HTTP service, which is asked for each search. A good answer comes in time, has a good status
 * and JSON with the list, and at least one of its rows, if it has any, is a profile. For any other answer, `search`
 * throws AppError `upstream_error`.
 *
 * The result is empty only when the answer proves that nothing matches. When its rows lack the field of a filter, were
 * refused, or may not be all rows, `search` throws an InconclusiveError. It does the same for a status that refuses this
 * search, and for a short page of a full answer where the service was not told of the page before. Words that the request
 * does not hold are looked for in the answer.
 */
export const createHttpLeads = (
  config: HttpLeadsConfig,
  { log, payFor }: { log: Log; payFor?: PayFor | undefined },
): LeadSource => {
  const { countsFree, revision, facets: request } = config;
  const service = openService(config, payFor);
  const closing = new AbortController();
  let facets: LeadFacets | undefined;
  const work = async (): Promise<void> => {
    if (request !== null) facets = await service.readFacets(request, closing.signal);
  };
  const what = 'reading the facets of leads.http';
  const reading = repeat({ what, intervalMs: facetsMs, signal: closing.signal, log, work });
  const unsupportedFilters = createUnsupportedFilters(config.rules);
  const reportRefused = throttle<{ refused: number; rows: number; firstProblem: string | null }>(
    logIntervalMs,
    (facts, leftOut) =>
      log.warn({ source: config.kind, ...facts, leftOut }, 'rows of a lead source are no profiles'),
  );

  return {
    search: async (query, { signal }) => {
      signal.throwIfAborted();
      const unsupported = unsupportedFilters.refused(query);
      if (unsupported !== null) throw missingField(unsupported, { wasAsked: false });
      const sent = new Set(config.templates.flatMap((template) => template.fieldsIn(query)));
      // Most rows do not pass a filter that the upstream does not know of, so more are asked for.
      const isFullySent = fieldsSearched(query).every((field) => sent.has(field));
      const isContinued = query.after === undefined || sent.has('after');
      const wanted = query.limit + (isContinued ? 0 : tiesAsked);
      const rowsAsked = isFullySent ? wanted : Math.max(wanted, config.filteredRows);
      const answer = await service.ask({ ...query, limit: rowsAsked }, signal);
      const words = sent.has('query') ? config.rules.words : 'check';
      const found = await service.read(answer, { query, rules: { ...config.rules, words } }, signal);
      const { leads, profiles, refused, unread, firstProblem } = found;
      const rows = profiles + refused;
      unsupportedFilters.learn(query, found);
      if (refused > 0) reportRefused({ refused, rows, firstProblem });
      if (refused > 0 && profiles === 0) throw unavailable(new Error(`none of ${refused} rows is a profile`));
      if (leads.length === 0 && rows > 0) {
        const reason = doubtOf(found, { query, rowsAsked: sent.has('limit') ? rowsAsked : null });
        if (reason !== null) throw reason;
      }
      // Buyers take a page below its limit for the last one.
      const isFull = unread > 0 || (sent.has('limit') && rows >= rowsAsked);
      if (isFull && leads.length < query.limit && !isContinued)
        throw new InconclusiveError({
          message: shortMessage,
          cause: `${leads.length} of ${rows} rows match`,
        });
      return leads;
    },
    status: () => ({ ready: true, synthetic: false, profiles: null, countsFree, revision, facets }),
    close: async () => {
      closing.abort();
      await reading;
      await service.close();
    },
  };
};

/** Asks the service and reads its answers. Throws AppError `upstream_error`, InconclusiveError, or the signal's reason. */
const openService = (config: HttpLeadsConfig, payFor: PayFor | undefined) => {
  const { timeoutMs, maxResponseBytes: maxBytes, pay } = config;
  const wrap =
    pay === null || payFor === undefined
      ? undefined
      : (http: HttpClient) => payFor(http, { upstream: 'leads.http', pay });
  const upstream = createAskUpstream({ timeoutMs, maxBytes, wrap });
  const reader = createAnswerReader({ timeoutMs });
  const orUnavailable = async <T>(work: Promise<T>, signal: AbortSignal): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      signal.throwIfAborted();
      throw unavailable(error);
    }
  };

  return {
    ask: async (query: LeadQuery, signal: AbortSignal): Promise<UpstreamAnswer> => {
      const answer = await orUnavailable(upstream.ask(toRequest(config, query), signal), signal);
      const { status, charset, retryAfterSeconds } = answer;
      if (refusals.has(status))
        throw new InconclusiveError({ message: unavailableMessage, cause: `status ${status}` });
      if (!isGood(status)) throw unavailable(new Error(`status ${status}`), retryAfterSeconds);
      if (charset !== null && !unicodeCharsets.has(charset))
        throw unavailable(new Error('the answer is not encoded in UTF-8, as JSON is'));
      return answer;
    },
    read: async (
      { status, bytes }: UpstreamAnswer,
      { query, rules }: Pick<AnswerToRead, 'query' | 'rules'>,
      signal: AbortSignal,
    ): Promise<ReadAnswer> => {
      const found = await orUnavailable(reader.read({ bytes, query, rules }, signal), signal);
      if (found === null) throw unavailable(new Error(`status ${status} without a list of results`));
      return found;
    },
    readFacets: async (
      { url, body }: NonNullable<HttpLeadsConfig['facets']>,
      signal: AbortSignal,
    ): Promise<LeadFacets> => {
      const request = { method: 'POST', url, headers: config.headers, body: JSON.stringify(body) } as const;
      const { status, bytes } = await upstream.ask(request, signal);
      if (!isGood(status)) throw new Error(`status ${status}`);
      const { countries, categories } = countsSchema.parse(parseJson(bytes)).aggregations;
      return toFacets({ country: toCounts(countries), category: toCounts(categories) });
    },
    close: async (): Promise<void> => {
      await Promise.all([upstream.close(), reader.close()]);
    },
  };
};

/** Counts by value, as OpenSearch writes them. */
const bucketsSchema = z.object({ buckets: z.array(z.object({ key: z.string(), doc_count: z.int() })) });
const countsSchema = z.object({
  aggregations: z.object({ countries: bucketsSchema, categories: bucketsSchema }),
});

const toCounts = ({ buckets }: z.output<typeof bucketsSchema>): ReadonlyMap<string, number> =>
  new Map(buckets.map(({ key, doc_count: profiles }) => [key, profiles]));

const toRequest = (
  { url, method, parameters, headers, body }: HttpLeadsConfig,
  query: LeadQuery,
): UpstreamRequest => {
  const target = new URL(url);
  for (const [parameter, template] of Object.entries(parameters)) {
    const value = template.fill(query);
    if (value !== undefined) target.searchParams.append(parameter, value);
  }
  const filled = body?.fill(query);
  return { method, url: target.href, headers, body: filled === undefined ? null : JSON.stringify(filled) };
};

/** Rows asked for above a page's limit, because those with as many followers as the page before come again. */
const tiesAsked = 20;

/** Encodings in which JSON is read. */
const unicodeCharsets: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii']);

/** The message for every search without an answer: the buyer paid nothing and may try again. */
const unavailableMessage = 'The data source is temporarily unavailable. Try again.';

const shortMessage = 'The data source does not tell whether more profiles match. Search with a lower limit.';

/** Returns the reason why an empty result would be a guess; null when the rows prove that nothing matches. */
const doubtOf = (
  { missingFields, profiles, refused, unread }: ReadAnswer,
  { query, rowsAsked }: { query: LeadQuery; rowsAsked: number | null },
): InconclusiveError | null => {
  const rows = profiles + refused;
  const missing = filtersOf(query).find((field) => missingFields.includes(field));
  if (missing !== undefined) return missingField(missing);
  if (refused > 0)
    return new InconclusiveError({ cause: `no match, and ${refused} of ${rows} rows refused` });
  // The upstream was sent a limit and has fewer rows.
  if (unread === 0 && rowsAsked !== null && rows < rowsAsked) return null;
  return new InconclusiveError({ cause: `no match in ${rows} rows, and there may be more` });
};

const missingField = (field: FilterField, { wasAsked } = { wasAsked: true }): InconclusiveError =>
  new InconclusiveError({
    wasAsked,
    message: `The data source does not tell the ${field} of its profiles now. Search without ${field}, or try again later.`,
    cause: `no row tells its ${field}, which the search filters by`,
  });

const unavailable = (cause: unknown, retryAfterSeconds: number | null = null): AppError =>
  new AppError('upstream_error', unavailableMessage, {
    retryAfterSeconds: Math.min(Math.max(1, retryAfterSeconds ?? defaultRetrySeconds), maxRetrySeconds),
    cause,
  });

/** Any answer of this size is parsed within two milliseconds. Starting a thread takes longer. */
const maxBytesHere = 128 * 1024;
const threads = 2;
/** More than the number of calls at once. */
const queueLimit = 128;
/**
 * A hostile answer takes about fifty times its bytes when it is parsed. This is enough for the largest answer that the
 * settings allow: V8 may end the whole process when a thread runs out of memory within one call.
 */
const maxHeapMb = 512;

/** Reads answers of upstreams without blocking the event loop: large ones are read in a thread. */
export const createAnswerReader = ({ timeoutMs }: { timeoutMs: number }) => {
  const pool = createThreadPool<AnswerToRead, ReadAnswer | null>({
    file: new URL('./worker.ts', import.meta.url),
    size: threads,
    queueLimit,
    timeoutMs,
    maxHeapMb,
  });
  return {
    /** Returns null if the answer is not JSON with the list. Throws ThreadError, or the signal's reason. */
    read: async (answer: AnswerToRead, signal: AbortSignal): Promise<ReadAnswer | null> =>
      answer.bytes.byteLength > maxBytesHere ? pool.run(answer, signal) : readAnswer(answer),
    close: () => pool.close(),
  };
};
