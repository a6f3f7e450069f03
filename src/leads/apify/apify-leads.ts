import type { ApifyLeadsConfig } from './apify-source.ts';
import type { Log } from '../../kit/log.ts';
import type { LeadQuery, LeadSource } from '../lead-source.ts';
import type { UpstreamAnswer, UpstreamRequest } from '../upstream/ask-upstream.ts';
import { follow, parseJson } from '../json-pointer.ts';
import { createLeadFieldReader } from '../upstream/lead-fields.ts';
import { createUpstreamLeads } from '../upstream/upstream-leads.ts';

/**
 * Leads from an actor of apify.com that is run for each search
 * (https://docs.apify.com/api/v2/act-run-sync-get-dataset-items-post). Errors as in `createUpstreamLeads`.
 */
export const createApifyLeads = (config: ApifyLeadsConfig, { log }: { log: Log }): LeadSource => {
  const fields = [...createLeadFieldReader(config.fields).members, 'error'].join(',');
  return createUpstreamLeads({
    ...config,
    name: 'apify',
    results: '',
    dialect: 'apify',
    toRequest: (query) => toRequest(config, { query, fields }),
    refusesSearch: (answer) => answer.status === 400 && errorType(answer) === 'invalid-input',
    explain,
    log,
  });
};

const toRequest = (
  { baseUrl, token, actor, input, timeoutMs, maxRows, maxChargeUsd }: ApifyLeadsConfig,
  { query, fields }: { query: LeadQuery; fields: string },
): UpstreamRequest => {
  const url = new URL(`${baseUrl}/v2/acts/${actor}/run-sync-get-dataset-items`);
  url.search = new URLSearchParams({
    format: 'json',
    // Without this list, profiles come with their last posts, which are many times longer.
    fields,
    // `limit`: rows that are read. `maxItems`: rows that an actor with a price per row may charge for. It does not count
    // as a sent limit: an actor may have a number of its own.
    limit: String(maxRows),
    maxItems: String(query.limit),
    // A run goes on, and costs money, after its caller has left.
    timeout: String(Math.max(1, Math.floor(timeoutMs / 1_000))),
    ...(maxChargeUsd === null ? {} : { maxTotalChargeUsd: String(maxChargeUsd) }),
  }).toString();
  return {
    method: 'POST',
    url: url.href,
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(input.fill(query)),
  };
};

const advice: Record<number, string> = {
  401: 'APIFY_TOKEN is not accepted',
  402: 'the account has used up its allowance',
  403: 'the account may not run this actor',
  404: 'there is no such actor (leads.apify.actor in causeway.yaml)',
  408: 'the run took too long',
  429: 'too many requests',
};

const errorType = ({ bytes }: UpstreamAnswer): string | null => {
  const type = follow(parseJson(bytes), ['error', 'type']);
  return typeof type === 'string' && /^[a-z0-9-]{1,80}$/.test(type) ? type : null;
};

const explain = (answer: UpstreamAnswer): string | null => {
  const parts = [advice[answer.status] ?? null, errorType(answer)].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(', ');
};
