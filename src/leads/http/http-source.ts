import { z } from 'zod';
import { ConfigError } from '../../kit/errors.ts';
import type { Json } from '../../kit/json.ts';
import { paySettings, readPay, type PayConfig } from '../../http/pay-settings.ts';
import { httpUrl } from '../../kit/url-settings.ts';
import { secret } from '../../kit/variables.ts';
import type { LeadSourceDefinition } from '../lead-source-definition.ts';
import {
  readFixedText,
  readJsonTemplate,
  readTextTemplate,
  type Template,
  type TemplateOrigin,
} from '../upstream/query-template.ts';
import {
  filteredRows,
  jsonPointer,
  readUpstream,
  refuseUnsentWords,
  upstreamSettings,
  type UpstreamLeadsConfig,
} from '../upstream/upstream-settings.ts';

/** A service that answers JSON with a list of profiles. */
export interface HttpLeadsConfig extends UpstreamLeadsConfig {
  kind: 'http';
  method: 'GET' | 'POST';
  url: string;
  /** Added to the query of `url`. */
  parameters: Record<string, Template<string>>;
  /** Names in lower case. Secret. */
  headers: Record<string, string>;
  /** Null: none is sent. */
  body: Template<Json> | null;
  templates: Template<Json>[];
  /** The JSON pointer of the list. */
  results: string;
  /** Null: its answers are not paid by x402. */
  pay: PayConfig | null;
}

const ownHeaders =
  /^(?:accept-encoding|connection|content-length|content-type|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/;

const section = z.strictObject({
  url: httpUrl
    .refine((url) => !/^\w+:[/\\]*[^/\\?#]*@/.test(url), 'must have no user and password; use headers')
    .refine((url) => !/[#{}]/.test(url), 'must have no fragment and no {}; use parameters')
    .describe('address of the service'),
  method: z.enum(['GET', 'POST']).optional().describe('`POST` when there is a `body`, otherwise `GET`'),
  parameters: z
    .record(
      z.string().min(1).max(100),
      secret(z.union([z.string(), z.number(), z.boolean()]).transform(String)),
    )
    .default({})
    .describe(
      'texts added to the query of the address; one whose field the search does not have is left out',
    ),
  headers: z
    .record(z.string(), secret(z.string()))
    .default({})
    .describe('headers of the request; `${NAME}` is an environment variable'),
  body: secret(z.json())
    .optional()
    .describe('JSON body of the request; its texts have the same places as `parameters`'),
  pay: paySettings.optional().describe('pays a service that sells its answers one by one'),
  results: jsonPointer.default('').describe('JSON pointer of the list in the answer'),
  filtered_rows: filteredRows.describe(
    '`{limit}` is at least this where a filter of the search is not sent; `SEARCH_MAX_LIMIT` when unset',
  ),
  ...upstreamSettings,
});

export const httpSource: LeadSourceDefinition<HttpLeadsConfig> = {
  kind: 'http',
  text: 'an HTTP service that answers JSON, asked for each search',
  variables: {},
  section,
  read: (given: z.output<typeof section>, origin) => {
    const setting = 'causeway.yaml: leads.http';
    const { environment } = origin;
    const method = given.method ?? (given.body === undefined ? 'GET' : 'POST');
    if (method === 'GET' && given.body !== undefined)
      throw new ConfigError(`${setting}.body: goes with method: POST`);
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
    if (!templates.some(({ fields }) => fields.includes('query')))
      refuseUnsentWords(given.words, { setting, where: 'parameters or in body' });
    return {
      kind: 'http',
      ...readUpstream(given, { ...origin, setting }),
      filteredRows: given.filtered_rows ?? origin.maxLimit,
      method,
      url: given.url,
      parameters,
      headers: readHeaders(given.headers, { setting: `${setting}.headers`, environment }),
      body,
      templates,
      results: given.results,
      pay: readPay(given.pay, { setting: 'leads.http', environment }),
    };
  },
  open: async (config, context) => {
    const { createHttpLeads } = await import('./http-leads.ts');
    return createHttpLeads(config, context);
  },
};

/** The headers with names in lower case. */
const readHeaders = (headers: Record<string, string>, origin: TemplateOrigin): Record<string, string> => {
  const entries = Object.entries(headers).map(([written, text]) => {
    const setting = `${origin.setting}.${written}`;
    const name = written.toLowerCase();
    if (!/^[\w!#$%&'*+.^`|~-]{1,100}$/.test(name))
      throw new ConfigError(`${setting}: is no name of a header`);
    if (ownHeaders.test(name)) throw new ConfigError(`${setting}: is set by the gateway itself`);
    const value = readFixedText(text, { ...origin, setting });
    if (!/^[\t\x20-\x7e]{0,4096}$/.test(value))
      throw new ConfigError(`${setting}: must be one line of plain characters, 4096 at most`);
    return [name, value];
  });
  return Object.fromEntries(entries);
};
