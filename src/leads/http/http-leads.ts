import type { HttpClient } from '../../http/http-client.ts';
import type { LeadSourceContext } from '../lead-source-definition.ts';
import type { HttpLeadsConfig } from './http-source.ts';
import type { LeadQuery, LeadSource } from '../lead-source.ts';
import type { UpstreamRequest } from '../upstream/ask-upstream.ts';
import { createUpstreamLeads } from '../upstream/upstream-leads.ts';

/** Leads from a configured HTTP service. Errors as in `createUpstreamLeads`. */
export const createHttpLeads = (
  config: HttpLeadsConfig,
  { log, payFor }: Pick<LeadSourceContext, 'log' | 'payFor'>,
): LeadSource => {
  const { pay } = config;
  return createUpstreamLeads({
    ...config,
    name: 'http',
    dialect: 'plain',
    toRequest: (query) => toRequest(config, query),
    refusesSearch: ({ status }) => refusals.has(status),
    ...(pay === null || payFor === undefined
      ? {}
      : { wrap: (http: HttpClient) => payFor(http, { upstream: 'leads.http', pay }) }),
    log,
  });
};

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
