import { stringify } from 'yaml';
import { readConfig } from '../../../src/config/config.ts';
import type { ApifyLeadsConfig } from '../../../src/leads/apify/apify-source.ts';
import type { HttpLeadsConfig } from '../../../src/leads/http/http-source.ts';

const hasWords = (section: Record<string, unknown>): boolean => JSON.stringify(section).includes('{query}');

/** The settings of `leads.http` as they are read from causeway.yaml; the words are sent where `section` is silent. */
export const readHttpSettings = (
  section: Record<string, unknown>,
  environment: Record<string, string> = {},
): HttpLeadsConfig => {
  const [source] = readConfig(
    { ...environment, LEADS_SOURCES: 'http' },
    stringify({
      leads: { http: hasWords(section) ? section : { ...section, parameters: { q: '{query}' } } },
    }),
  ).leads.sources;
  if (source?.kind !== 'http') throw new Error('the settings name no http source');
  return source;
};

/** The settings of `leads.apify`, with a token; the words are sent where `section` is silent. */
export const readApifySettings = (
  section: Record<string, unknown>,
  environment: Record<string, string> = {},
): ApifyLeadsConfig => {
  const [source] = readConfig(
    { APIFY_TOKEN: 'apify_api_secret', ...environment, LEADS_SOURCES: 'apify' },
    stringify({ leads: { apify: { input: { search: '{query}' }, ...section } } }),
  ).leads.sources;
  if (source?.kind !== 'apify') throw new Error('the settings name no apify source');
  return source;
};
