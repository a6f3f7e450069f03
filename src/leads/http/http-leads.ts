import type { HttpLeadsConfig } from './http-source.ts';
import type { Log } from '../../kit/log.ts';
import type { LeadQuery, LeadSource } from '../lead-source.ts';
import type { UpstreamRequest } from '../upstream/ask-upstream.ts';
import { createUpstreamLeads } from '../upstream/upstream-leads.ts';

/** Leads from a configured HTTP service. Errors as in `createUpstreamLeads`. */
export const createHttpLeads = (config: HttpLeadsConfig, { log }: { log: Log }): LeadSource =>
  createUpstreamLeads({
    ...config,
    name: 'http',
    dialect: 'plain',
    toRequest: (query) => toRequest(config, query),
    refusesSearch: ({ status }) => refusals.has(status),
    log,
  });

/** Statuses that concern the search, not the service. */
const refusals: ReadonlySet<number> = new Set([400, 413, 414, 422]);

const toRequest = (
  { url, method, parameters, headers, body }: HttpLeadsConfig,
  query: LeadQuery,
): UpstreamRequest => {
  const target = new URL(url);
  for (const [name, template] of Object.entries(parameters)) {
    const value = template.fill(query);
    if (value !== undefined) target.searchParams.append(name, value);
  }
  const filled = body?.fill(query);
  return {
    method,
    url: target.href,
    headers,
    body: filled === undefined ? null : JSON.stringify(filled),
  };
};
