import { z } from 'zod';
import { paySettings, readPay } from '../../http/pay-settings.ts';
import { ConfigError } from '../../kit/errors.ts';
import { sha256 } from '../../kit/ids.ts';
import { canonicalJson } from '../../kit/json.ts';
import { httpUrl, jsonPointer, secret } from '../../kit/settings.ts';
import { defaultableFields, leadFields, type LeadField } from '../lead-fields.ts';
import {
  readFixedText,
  readJsonTemplate,
  readTextTemplate,
  searchedFields,
  type QueryField,
  type TemplateOrigin,
} from './query-template.ts';

/** A service that answers JSON with a list of profiles. */
export type HttpLeadsConfig = ReturnType<typeof readHttpSource>;

/** Rules for reading the answers. Plain data, because they are sent to a thread. */
export type AnswerRules = HttpLeadsConfig['rules'];

/** JSON pointers by field. An empty list: the field is not read. A field that is missing here has its usual names. */
export type LeadFieldPointers = Partial<Record<LeadField, string[]>>;

/** Far below the 300 s that a proof of payment is valid: after the search it must still be settled. */
export const maxSearchMs = 120_000;

/** Counting asks for 101 matches. */
const minCountedRows = 101;

const ownHeaders =
  /^(?:accept-encoding|connection|content-length|content-type|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/;

const fieldPointers = z
  .partialRecord(z.enum(leadFields), z.union([jsonPointer, z.array(jsonPointer).min(1).max(10), z.null()]))
  .transform((fields): LeadFieldPointers => {
    const entries = Object.entries(fields).map(([field, value]) => [
      field,
      value === null ? [] : [value].flat(),
    ]);
    return Object.fromEntries(entries);
  })
  .refine(
    ({ username, followers }) => username?.length !== 0 && followers?.length !== 0,
    'must find username and followers, without which no row is a profile',
  )
  .default({});

const defaults = z
  .strictObject({
    full_name: z.string().max(500).optional(),
    following: z
      .int()
      .min(0)
      .max(2 ** 31 - 1)
      .optional(),
    is_verified: z.boolean().optional(),
    is_business: z.boolean().optional(),
  })
  .default({});

const serviceUrl = httpUrl
  .refine((url) => !/^\w+:[/\\]*[^/\\?#]*@/.test(url), 'must have no user and password; use headers')
  .refine((url) => !url.includes('#'), 'must have no fragment');

/** The section `leads.http` of causeway.yaml. */
export const httpSection = z.strictObject({
  url: serviceUrl
    .refine((url) => !/[{}]/.test(url), 'must have no {}; use parameters')
    .describe('address of the service'),
  method: z.enum(['GET', 'POST']).optional().describe('`POST` when there is a `body`, otherwise `GET`'),
  parameters: z
    .record(
      z.string().min(1).max(100),
      secret(z.union([z.string(), z.number(), z.boolean()]).transform(String)),
    )
    .default({})
    .describe('added to the query of the address, where the search has the field'),
  headers: z
    .record(z.string(), secret(z.string()))
    .default({})
    .describe('headers of the request; `${NAME}` is an environment variable'),
  body: secret(z.json())
    .optional()
    .describe('JSON body of the request, with the same places as `parameters`'),
  pay: paySettings.optional().describe('pays for the answers, as `providers.NAME.pay`'),
  counts: z
    .literal('free')
    .optional()
    .describe('`free`: the service is your own, so anybody may count matches'),
  facets: z
    .strictObject({ url: serviceUrl, body: secret(z.json()) })
    .optional()
    .describe(
      '`POST` of `body` to `url` for `/v1/search/facets`, with the same `headers`; goes with `counts`',
    ),
  results: jsonPointer.default('').describe('JSON pointer of the list in the answer'),
  nothing: z
    .strictObject({
      at: jsonPointer.describe('JSON pointer into a row'),
      values: z
        .array(z.union([z.string(), z.number(), z.boolean()]))
        .min(1)
        .max(20)
        .describe('values there'),
    })
    .optional()
    .describe('rows that mean that nothing was found'),
  filtered_rows: z
    .int()
    .min(1)
    .max(1_000)
    .optional()
    .describe(
      '`{limit}` is at least this where a filter of the search is not sent; `SEARCH_MAX_LIMIT` when unset',
    ),
  fields: fieldPointers.describe(
    'by field: JSON pointer into a row, pointers of which the first with a value counts, or `null` for none',
  ),
  defaults: defaults.describe(
    'values for rows without `full_name`, `following`, `is_verified` or `is_business`',
  ),
  words: z
    .enum(['upstream', 'check'])
    .default('upstream')
    .describe('`check` looks for the words of the search in what was found'),
  timeout_ms: z
    .int()
    .min(1)
    .max(maxSearchMs)
    .optional()
    .describe('longest search; an equal share of `LEADS_TIMEOUT_MS` when unset'),
  max_response_bytes: z
    .int()
    .min(1_024)
    .max(8 * 1024 ** 2)
    .default(4 * 1024 ** 2)
    .describe('largest answer'),
  max_rows: z.int().min(1).max(10_000).default(1_000).describe('rows of one answer that are read'),
  forget: z
    .strictObject({
      url: serviceUrl.describe('its address; with `{username_key}` one request for each person'),
      method: z
        .enum(['DELETE', 'POST'])
        .optional()
        .describe('`POST` when there is a `body`, otherwise `DELETE`'),
      body: secret(z.json())
        .optional()
        .describe('its JSON body; `{username_keys}` is the list of up to 1,000 people'),
    })
    .optional()
    .describe('request that deletes people after `leads delete`, with the same `headers`'),
});

type Section = z.output<typeof httpSection>;

const setting = 'causeway.yaml: leads.http';

export interface HttpSourceOrigin {
  /** The environment for `${NAME}` in causeway.yaml. */
  environment: Record<string, string | undefined>;
  /** The longest search in all sources together. */
  totalMs: number;
  shareMs: number;
  maxLimit: number;
}

/** Throws ConfigError with one line that names the setting. */
export const readHttpSource = (
  given: Section,
  { environment, shareMs, totalMs, maxLimit }: HttpSourceOrigin,
) => {
  const method = given.method ?? (given.body === undefined ? 'GET' : 'POST');
  if (method === 'GET' && given.body !== undefined)
    throw new ConfigError(`${setting}.body: goes with method: POST`);
  const timeoutMs = given.timeout_ms ?? shareMs;
  if (timeoutMs > totalMs)
    throw new ConfigError(`${setting}.timeout_ms: must not be above LEADS_TIMEOUT_MS, which is ${totalMs}`);
  const parameters = Object.fromEntries(
    Object.entries(given.parameters).map(
      ([name, text]) =>
        [name, readTextTemplate(text, { setting: `${setting}.parameters.${name}`, environment })] as const,
    ),
  );
  const body =
    given.body === undefined
      ? null
      : readJsonTemplate(given.body, { setting: `${setting}.body`, environment });
  const templates = [...Object.values(parameters), ...(body === null ? [] : [body])];
  checkFields(given, new Set(templates.flatMap(({ fields }) => fields)));
  return {
    kind: 'http' as const,
    method,
    url: given.url,
    parameters,
    headers: readHeaders(given.headers, { setting: `${setting}.headers`, environment }),
    body,
    /** Everything in the request that depends on the search. */
    templates,
    rules: {
      results: given.results,
      nothing: given.nothing ?? null,
      fields: given.fields,
      defaults: given.defaults,
      words: given.words,
      maxRows: given.max_rows,
    },
    filteredRows: given.filtered_rows ?? maxLimit,
    timeoutMs,
    maxResponseBytes: given.max_response_bytes,
    countsFree: given.counts === 'free',
    costsMoney: given.counts !== 'free',
    facets: given.facets ?? null,
    forget: readForget(given.forget),
    pay: readPay(given.pay, { setting: 'leads.http', environment }),
    // A digest of the file's text, which has the names of secret variables, not their values.
    revision: sha256(canonicalJson(given)).slice(0, 16),
  };
};

const checkFields = (given: Section, sent: ReadonlySet<QueryField>): void => {
  const missing = defaultableFields.find(
    (field) => given.fields[field]?.length === 0 && given.defaults[field] === undefined,
  );
  if (missing !== undefined)
    throw new ConfigError(
      `${setting}.fields.${missing}: no row is a profile without it; set its pointer, or ${setting}.defaults.${missing}`,
    );
  // A service that is not sent the words finds the same for all searches, and that would be sold.
  if (!sent.has('query') && given.words === 'upstream')
    throw new ConfigError(
      `${setting}: {query} or {terms} must be in parameters or in body, or each search finds the same; or set words: check`,
    );
  if (given.facets !== undefined && given.counts === undefined)
    throw new ConfigError(`${setting}.facets: goes with counts: free, as nobody pays for it`);
  if (given.counts === undefined) return;
  const unsent = [...searchedFields, 'limit' as const].find((field) => !sent.has(field));
  if (unsent !== undefined || given.words === 'check')
    throw new ConfigError(
      `${setting}.counts: a service can only count what it is sent; ${unsent === undefined ? 'leave out words: check' : `put {${unsent}} in parameters or in body`}`,
    );
  if (given.pay !== undefined) throw new ConfigError(`${setting}.counts: is not free beside pay`);
  if (given.max_rows < minCountedRows)
    throw new ConfigError(`${setting}.max_rows: must be at least ${minCountedRows} beside counts`);
};

const readForget = (given: Section['forget']) => {
  if (given === undefined) return null;
  const { url, body = null, method = body === null ? 'DELETE' : 'POST' } = given;
  const isOneByOne = url.includes('{username_key}');
  const isTogether = JSON.stringify(body).includes('"{username_keys}"');
  if (isOneByOne === isTogether)
    throw new ConfigError(
      `${setting}.forget: needs {username_key} in url, or a text {username_keys} in body, and not both`,
    );
  return { method, url, body };
};

/** The headers with names in lower case. */
const readHeaders = (headers: Record<string, string>, origin: TemplateOrigin): Record<string, string> => {
  const entries = Object.entries(headers).map(([written, text]) => {
    const where = `${origin.setting}.${written}`;
    const name = written.toLowerCase();
    if (!/^[\w!#$%&'*+.^`|~-]{1,100}$/.test(name)) throw new ConfigError(`${where}: is no name of a header`);
    if (ownHeaders.test(name)) throw new ConfigError(`${where}: is set by the gateway itself`);
    const value = readFixedText(text, { ...origin, setting: where });
    if (!/^[\t\x20-\x7e]{0,4096}$/.test(value))
      throw new ConfigError(`${where}: must be one line of plain characters, 4096 at most`);
    return [name, value];
  });
  return Object.fromEntries(entries);
};
