import { z } from 'zod';
import { ConfigError } from '../../kit/errors.ts';
import { sha256 } from '../../kit/ids.ts';
import { canonicalJson, type Json } from '../../kit/json.ts';
import {
  fieldsOf,
  hasField,
  readFixedText,
  readJsonTemplate,
  readTextTemplate,
  type JsonTemplate,
  type TextTemplate,
} from './query-template.ts';
import { httpUrl, plainUrl } from '../../kit/url-settings.ts';
import { defaultableFields, leadFields, type LeadDefaults, type LeadField } from '../lead-fields.ts';

/** What all services of somebody else have in common. */
export interface UpstreamLeadsConfig {
  /** The whole of one call. */
  timeoutMs: number;
  maxResponseBytes: number;
  /** Rows of one answer that are looked at. */
  maxRows: number;
  /** Rows that are asked for, at least, where the upstream is not told of a filter. */
  filteredRows: number;
  /** Where in a row a field is, in place of the usual names: JSON pointers, of which the first with a value counts. */
  fields: LeadFieldPointers;
  /** For rows that lack a required field; without one for it they are not sold. */
  defaults: LeadDefaults;
  /** `check`: what the upstream finds is compared with the words of the search once more. */
  words: 'upstream' | 'check';
  /** Another one with other settings; tells nothing of them. */
  revision: string;
}

/** A service that answers JSON with a list of profiles. */
export interface HttpLeadsConfig extends UpstreamLeadsConfig {
  kind: 'http';
  method: 'GET' | 'POST';
  url: string;
  /** Added to the query of `url`. */
  parameters: Record<string, TextTemplate>;
  /** Names in lower case. Secret. */
  headers: Record<string, string>;
  /** Null: none is sent. */
  body: JsonTemplate | null;
  /** The JSON pointer of the list. */
  results: string;
}

/** An actor of apify.com, run for each search. */
export interface ApifyLeadsConfig extends UpstreamLeadsConfig {
  kind: 'apify';
  /** Without a trailing slash. */
  baseUrl: string;
  token: string;
  /** An id, or `owner~name`. */
  actor: string;
  input: JsonTemplate;
  /** The most that one run may cost; null: what the actor's own settings say. */
  maxChargeUsd: number | null;
}

/** An empty list: the field is not taken at all. A field that is missing here has its usual names. */
export type LeadFieldPointers = Partial<Record<LeadField, string[]>>;

/** Far within the time that a proof of payment is good for (300 s): after the search it is still to be settled. */
export const longestSearchMs = 120_000;

const pointer = z
  .string()
  .max(500)
  .regex(/^(?:\/(?:[^~/]|~[01])*)*$/, 'must be a JSON pointer, such as /data/items');
const fieldPointers = z
  .partialRecord(z.enum(leadFields), z.union([pointer, z.array(pointer).min(1).max(10), z.null()]))
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

const upstreamSettings = {
  fields: fieldPointers,
  defaults,
  words: z.enum(['upstream', 'check']).default('upstream'),
  timeout_ms: z.int().min(1).max(longestSearchMs).optional(),
  max_response_bytes: z
    .int()
    .min(1_024)
    .max(8 * 1024 ** 2)
    .default(4 * 1024 ** 2),
  max_rows: z.int().min(1).max(10_000).default(1_000),
};
const filteredRows = z.int().min(1).max(1_000);

/** What HTTP itself says of a request, and what we say of its body. */
const ownHeaders = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** `leads.http` of causeway.yaml. */
export const httpSettings = z.strictObject({
  url: httpUrl
    .refine((url) => !/^\w+:[/\\]*[^/\\?#]*@/.test(url), 'must have no user and password; use headers')
    .refine((url) => !/[#{}]/.test(url), 'must have no fragment and no {}; use parameters'),
  method: z.enum(['GET', 'POST']).optional(),
  parameters: z
    .record(z.string().min(1).max(100), z.union([z.string(), z.number(), z.boolean()]).transform(String))
    .default({}),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.json().optional(),
  results: pointer.default(''),
  // Without it, as many as a search may ask for: that much the service has to answer anyway.
  filtered_rows: filteredRows.optional(),
  ...upstreamSettings,
});

/** `leads.apify` of causeway.yaml. */
export const apifySettings = z.strictObject({
  actor: z
    .string()
    .regex(/^[\w.-]{1,100}(?:[~/][\w.-]{1,100})?$/, 'must be the id of an actor, or owner~name')
    .transform((actor) => actor.replace('/', '~')),
  input: z.record(z.string(), z.json()).default({}),
  base_url: plainUrl.default('https://api.apify.com'),
  max_charge_usd: z.number().positive().max(1_000).optional(),
  filtered_rows: filteredRows.optional(),
  ...upstreamSettings,
});

interface UpstreamSources {
  timeoutMs: number;
  variables: Record<string, string | undefined>;
}

const toUpstream = (
  section: z.infer<z.ZodObject<typeof upstreamSettings>>,
  { setting, timeoutMs }: { setting: string; timeoutMs: number },
): Omit<UpstreamLeadsConfig, 'filteredRows'> => {
  const untold = defaultableFields.find(
    (field) => section.fields[field]?.length === 0 && section.defaults[field] === undefined,
  );
  if (untold !== undefined)
    throw new ConfigError(
      `${setting}.fields.${untold}: no row is a profile without it; say where it is, or name ${setting}.defaults.${untold}`,
    );
  return {
    timeoutMs,
    maxResponseBytes: section.max_response_bytes,
    maxRows: section.max_rows,
    fields: section.fields,
    defaults: section.defaults,
    words: section.words,
    // Of what the file says: a variable's name stands for the secret in it.
    revision: sha256(canonicalJson(section)).slice(0, 16),
  };
};

/** Throws ConfigError with one line that names the setting. */
export const readHttp = (
  section: z.infer<typeof httpSettings>,
  { timeoutMs, mostLimit, variables: environment }: UpstreamSources & { mostLimit: number },
): HttpLeadsConfig => {
  const setting = 'causeway.yaml: leads.http';
  const method = section.method ?? (section.body === undefined ? 'GET' : 'POST');
  if (method === 'GET' && section.body !== undefined)
    throw new ConfigError(`${setting}.body: goes with method: POST`);
  const entries = Object.entries(section.parameters).map(
    ([name, text]) =>
      [name, readTextTemplate(text, { setting: `${setting}.parameters.${name}`, environment })] as const,
  );
  const body =
    section.body === undefined
      ? null
      : readJsonTemplate(section.body, { setting: `${setting}.body`, environment });
  const isTold =
    entries.some(([, text]) => fieldsOf(text).includes('query')) ||
    (body !== null && hasField(body, 'query'));
  if (!isTold) refuseUntold(section.words, { setting, where: 'parameters or in body' });
  return {
    kind: 'http',
    ...toUpstream(section, { setting, timeoutMs }),
    filteredRows: section.filtered_rows ?? mostLimit,
    method,
    url: section.url,
    parameters: Object.fromEntries(entries),
    headers: readHeaders(section.headers, environment),
    body,
    results: section.results,
  };
};

/** Names in lower case. */
const readHeaders = (
  headers: Record<string, string>,
  environment: UpstreamSources['variables'],
): Record<string, string> => {
  const entries = Object.entries(headers).map(([written, text]) => {
    const setting = `causeway.yaml: leads.http.headers.${written}`;
    const name = written.toLowerCase();
    if (!/^[\w!#$%&'*+.^`|~-]{1,100}$/.test(name))
      throw new ConfigError(`${setting}: is no name of a header`);
    if (ownHeaders.has(name)) throw new ConfigError(`${setting}: is set by the gateway itself`);
    const value = readFixedText(text, { setting, environment });
    if (!/^[\t\x20-\x7e]{0,4096}$/.test(value))
      throw new ConfigError(`${setting}: must be one line of plain characters, 4096 at most`);
    return [name, value];
  });
  return Object.fromEntries(entries);
};

/** Throws ConfigError with one line that names the setting. */
export const readApify = (
  section: z.infer<typeof apifySettings>,
  { timeoutMs, token, variables: environment }: UpstreamSources & { token: string | null },
): ApifyLeadsConfig => {
  if (token === null) throw new ConfigError('APIFY_TOKEN: must be set for LEADS_SOURCES with apify');
  const input: Json = section.input;
  const setting = 'causeway.yaml: leads.apify';
  const template = readJsonTemplate(input, { setting: `${setting}.input`, environment });
  if (!hasField(template, 'query')) refuseUntold(section.words, { setting, where: 'input' });
  return {
    kind: 'apify',
    ...toUpstream(section, { setting, timeoutMs }),
    // Rows cost money there: no more than the search asks for, unless the operator says so.
    filteredRows: section.filtered_rows ?? 1,
    baseUrl: section.base_url,
    token,
    actor: section.actor,
    input: template,
    maxChargeUsd: section.max_charge_usd ?? null,
  };
};

/** An upstream that is not told the words finds the same for all of them, and that would be sold as found. */
const refuseUntold = (
  words: 'upstream' | 'check',
  { setting, where }: { setting: string; where: string },
): void => {
  if (words === 'check') return;
  throw new ConfigError(
    `${setting}: {query} must be in ${where}, else each search finds the same; or set words: check`,
  );
};
