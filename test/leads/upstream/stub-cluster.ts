import { z } from 'zod';
import { renderMustache } from './render-mustache.ts';
import type { StubAnswer, StubRequest } from './stub-service.ts';

/*
 * The wire of OpenSearch and Elasticsearch as far as deploy/leads/README.md uses it, over plain scans. Anything else
 * is refused with 400, as a server does. Searches and deletions by query see documents as of the last refresh.
 */

type Document = Record<string, unknown>;

interface Index {
  definition: z.infer<typeof indexSchema>;
  stored: Map<string, Document>;
  searched: Map<string, Document>;
}

const indexSchema = z.object({
  settings: z.object({
    index: z.object({ 'sort.field': z.array(z.string()), 'sort.order': z.array(z.enum(['asc', 'desc'])) }),
  }),
  mappings: z.object({
    dynamic: z.literal(false),
    _source: z.object({ excludes: z.array(z.string()) }),
    properties: z.record(
      z.string(),
      z.discriminatedUnion('type', [
        z.strictObject({ type: z.literal('keyword') }),
        z.strictObject({ type: z.literal('long') }),
        z.strictObject({
          type: z.literal('text'),
          analyzer: z.literal('keyword'),
          index_options: z.literal('docs'),
          norms: z.literal(false),
          index_prefixes: z.strictObject({ min_chars: z.int().min(1), max_chars: z.int().max(19) }),
        }),
      ]),
    ),
  }),
});

const oneText = z.record(z.string(), z.string());
const querySchema = z.union([
  z.strictObject({ match_all: z.strictObject({}) }),
  z.strictObject({ term: oneText }),
  z.strictObject({ prefix: oneText }),
  z.strictObject({
    range: z.record(z.string(), z.strictObject({ gte: z.int().optional(), lte: z.int().optional() })),
  }),
  z.strictObject({ ids: z.strictObject({ values: z.array(z.string()) }) }),
]);

const searchSchema = z.strictObject({
  size: z.int().min(0).max(10_000),
  track_total_hits: z.literal(false),
  sort: z.array(z.record(z.string(), z.enum(['asc', 'desc']))),
  search_after: z.array(z.union([z.int(), z.string()])).optional(),
  query: z.strictObject({ bool: z.strictObject({ filter: z.array(querySchema) }) }),
});

const countSchema = z.strictObject({
  size: z.literal(0),
  track_total_hits: z.literal(false),
  aggs: z.record(
    z.string(),
    z.strictObject({ terms: z.strictObject({ field: z.string(), size: z.int().min(1).max(10_000) }) }),
  ),
});

const bulkAction = z.strictObject({
  index: z.strictObject({ _index: z.string().optional(), _id: z.string().min(1) }),
});

/** Returns a function that answers the requests to a cluster, for `startStubService`. */
export const createStubCluster = (): ((request: StubRequest) => StubAnswer) => {
  const indices = new Map<string, Index>();
  const aliases = new Map<string, string>();
  const scripts = new Map<string, string>();

  const named = (expression: string): Index[] => {
    const name = aliases.get(expression) ?? expression;
    const pattern = new RegExp(`^${name.replaceAll('*', '.*')}$`);
    return [...indices].flatMap(([each, index]) => (pattern.test(each) ? [index] : []));
  };

  const bulk = (name: string | undefined, lines: unknown[]): object => {
    const items = lines.flatMap((line, at) => {
      if (at % 2 === 1) return [];
      const { _index = name ?? '', _id: id } = bulkAction.parse(line).index;
      const [index] = named(_index);
      if (index === undefined || Buffer.byteLength(id) > 512) return [{ index: { _id: id, status: 400 } }];
      index.stored.set(id, z.record(z.string(), z.unknown()).parse(lines[at + 1]));
      return [{ index: { _id: id, status: 201 } }];
    });
    return { took: 1, errors: items.some(({ index: { status } }) => status >= 400), items };
  };

  const search = (index: Index, body: unknown): object => {
    const { id, params } = z.strictObject({ id: z.string(), params: z.looseObject({}) }).parse(body);
    const {
      size,
      sort,
      search_after: after,
      query,
    } = searchSchema.parse(JSON.parse(renderMustache(scripts.get(id) ?? '', params)));
    const keys = sort.flatMap((one) => Object.entries(one));
    const hits = [...index.searched]
      .filter(([key, found]) => query.bool.filter.every((one) => matches(index, one, key, found)))
      .map(([key, found]) => ({ _id: key, _source: found, sort: keys.map(([field]) => found[field]) }))
      .filter((hit) => after === undefined || compare(keys, hit.sort, after) > 0)
      .toSorted((one, other) => compare(keys, one.sort, other.sort))
      .slice(0, size);
    const { excludes } = index.definition.mappings._source;
    return {
      took: 1,
      timed_out: false,
      _shards: { total: 1, successful: 1, skipped: 0, failed: 0 },
      hits: {
        max_score: null,
        hits: hits.map(({ _source, ...hit }) => ({
          ...hit,
          _score: null,
          _source: Object.fromEntries(Object.entries(_source).filter(([field]) => !excludes.includes(field))),
        })),
      },
    };
  };

  /** Counts the values of fields, the most frequent first. */
  const count = (index: Index, body: unknown): object => {
    const { aggs } = countSchema.parse(body);
    const bucketsOf = ({ terms: { field, size } }: (typeof aggs)[string]): object => {
      const found = new Map<unknown, number>();
      for (const { [field]: value } of index.searched.values())
        if (value !== undefined) found.set(value, (found.get(value) ?? 0) + 1);
      const buckets = [...found].map(([key, count]) => ({ key, doc_count: count }));
      return { buckets: buckets.toSorted((one, other) => other.doc_count - one.doc_count).slice(0, size) };
    };
    const aggregations = Object.entries(aggs).map(([name, one]) => [name, bucketsOf(one)] as const);
    return { took: 1, timed_out: false, aggregations: Object.fromEntries(aggregations) };
  };

  const perform = ({ method, url, body }: StubRequest): object => {
    const [first = '', ...rest] = url.pathname.slice(1).split('/');
    const action = `${method} ${[first.startsWith('_') ? first : 'INDEX', ...rest].join('/')}`;
    switch (action) {
      case 'PUT INDEX':
        indices.set(first, { definition: indexSchema.parse(body), stored: new Map(), searched: new Map() });
        return { acknowledged: true };
      case 'PUT _scripts/causeway': {
        const { script } = z
          .object({ script: z.object({ lang: z.literal('mustache'), source: z.string() }) })
          .parse(body);
        scripts.set('causeway', script.source);
        return { acknowledged: true };
      }
      case 'POST _aliases': {
        const one = z.object({ index: z.string(), alias: z.string() });
        const { actions } = z
          .object({ actions: z.array(z.partialRecord(z.enum(['add', 'remove']), one)) })
          .parse(body);
        for (const { add } of actions) if (add !== undefined) aliases.set(add.alias, add.index);
        return { acknowledged: true };
      }
      case 'POST _bulk':
        return bulk(undefined, z.array(z.unknown()).parse(body));
      case 'POST INDEX/_bulk':
        return bulk(first, z.array(z.unknown()).parse(body));
      case 'POST INDEX/_refresh':
        for (const index of named(first)) index.searched = new Map(index.stored);
        return { _shards: { total: 1, successful: 1, failed: 0 } };
      case 'POST INDEX/_search':
      case 'POST INDEX/_search/template': {
        const [index] = named(first);
        if (index === undefined) throw new Error(`no such index [${first}]`);
        return rest.length === 1 ? count(index, body) : search(index, body);
      }
      case 'POST INDEX/_delete_by_query': {
        const { query } = z.strictObject({ query: querySchema }).parse(body);
        let deleted = 0;
        for (const index of named(first)) {
          for (const [key, found] of index.searched)
            if (matches(index, query, key, found) && index.stored.delete(key)) deleted += 1;
          if (url.searchParams.get('refresh') === 'true') index.searched = new Map(index.stored);
        }
        return { took: 1, timed_out: false, deleted, version_conflicts: 0, failures: [] };
      }
      default:
        throw new Error(`no handler found for ${action}`);
    }
  };

  return (request) => {
    try {
      return { kind: 'json', value: perform(request) };
    } catch (error) {
      return { kind: 'json', status: 400, value: { error: { reason: String(error) }, status: 400 } };
    }
  };
};

const matches = (
  { definition }: Index,
  query: z.infer<typeof querySchema>,
  key: string,
  found: Document,
): boolean => {
  const valuesOf = (field: string): unknown[] =>
    field in definition.mappings.properties ? [found[field] ?? []].flat() : [];
  const every = <T>(fields: Record<string, T>, holds: (value: unknown, wanted: T) => boolean): boolean =>
    Object.entries(fields).every(([field, wanted]) => valuesOf(field).some((value) => holds(value, wanted)));
  if ('match_all' in query) return true;
  if ('term' in query) return every(query.term, (value, wanted) => value === wanted);
  if ('prefix' in query) return every(query.prefix, (value, wanted) => String(value).startsWith(wanted));
  if ('range' in query)
    return every(
      query.range,
      (value, { gte = -Infinity, lte = Infinity }) => Number(value) >= gte && Number(value) <= lte,
    );
  return query.ids.values.includes(key);
};

const compare = (
  keys: readonly (readonly [string, 'asc' | 'desc'])[],
  one: readonly unknown[],
  other: readonly unknown[],
): number => {
  for (const [at, [, order]] of keys.entries()) {
    const [a, b] = [one[at], other[at]];
    const difference =
      typeof a === 'number' && typeof b === 'number'
        ? a - b
        : Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
    if (difference !== 0) return order === 'asc' ? difference : -difference;
  }
  return 0;
};
