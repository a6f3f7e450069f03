import { z } from 'zod';
import { ConfigError } from '../../kit/errors.ts';
import { sha256 } from '../../kit/ids.ts';
import { canonicalJson } from '../../kit/json.ts';
import { defaultableFields, leadFields, type LeadDefaults, type LeadField } from '../lead-fields.ts';
import type { LeadSourceConfig, LeadSourceOrigin } from '../lead-source-definition.ts';

/** The configuration that all upstream services have in common. */
export interface UpstreamLeadsConfig extends LeadSourceConfig {
  maxResponseBytes: number;
  maxRows: number;
  /** The fewest rows that are asked for when a filter of the search is not sent. */
  filteredRows: number;
  /** Where the fields of a row are, in place of the usual names. The first pointer with a value counts. */
  fields: LeadFieldPointers;
  /** Values for rows that lack a required field. Rows that lack it without a default are refused. */
  defaults: LeadDefaults;
  /** `check`: the words of the search are looked for in the profiles that the upstream finds. */
  words: 'upstream' | 'check';
  /** A digest of the settings. Other settings have another revision. */
  revision: string;
}

/** JSON pointers by field. An empty list: the field is not read. A field that is missing here has its usual names. */
export type LeadFieldPointers = Partial<Record<LeadField, string[]>>;

/** Far below the 300 s that a proof of payment is valid: after the search it must still be settled. */
export const maxSearchMs = 120_000;

export const jsonPointer = z
  .string()
  .max(500)
  .regex(/^(?:\/(?:[^~/]|~[01])*)*$/, 'must be a JSON pointer, such as /data/items');
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

export const upstreamSettings = {
  fields: fieldPointers.describe(
    'JSON pointer into a row by field, a list of pointers of which the first with a value counts, or `null` for a field that is not read',
  ),
  defaults: defaults.describe(
    'values for rows without `full_name`, `following`, `is_verified` or `is_business`',
  ),
  words: z
    .enum(['upstream', 'check'])
    .default('upstream')
    .describe('`check` looks for the words of the search in the profiles that were found'),
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
};
export const filteredRows = z.int().min(1).max(1_000).optional();

/** Throws ConfigError with one line that names the setting. */
export const readUpstream = (
  section: z.output<z.ZodObject<typeof upstreamSettings>>,
  { setting, shareMs, totalMs }: LeadSourceOrigin & { setting: string },
): Omit<UpstreamLeadsConfig, 'kind' | 'filteredRows'> => {
  const timeoutMs = section.timeout_ms ?? shareMs;
  if (timeoutMs > totalMs)
    throw new ConfigError(`${setting}.timeout_ms: must not be above LEADS_TIMEOUT_MS, which is ${totalMs}`);
  const missing = defaultableFields.find(
    (field) => section.fields[field]?.length === 0 && section.defaults[field] === undefined,
  );
  if (missing !== undefined)
    throw new ConfigError(
      `${setting}.fields.${missing}: no row is a profile without it; set its pointer, or ${setting}.defaults.${missing}`,
    );
  return {
    timeoutMs,
    maxResponseBytes: section.max_response_bytes,
    maxRows: section.max_rows,
    fields: section.fields,
    defaults: section.defaults,
    words: section.words,
    // A digest of the file's text, which has the names of secret variables, not their values.
    revision: sha256(canonicalJson(section)).slice(0, 16),
  };
};

/** Refuses an upstream that is not sent the words: it would find the same for all searches, and that would be sold. */
export const refuseUnsentWords = (
  words: 'upstream' | 'check',
  { setting, where }: { setting: string; where: string },
): void => {
  if (words === 'check') return;
  throw new ConfigError(
    `${setting}: {query} must be in ${where}, or each search finds the same; or set words: check`,
  );
};
