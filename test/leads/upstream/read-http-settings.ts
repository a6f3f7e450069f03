import { stringify } from 'yaml';
import { readConfig } from '../../../src/config/config.ts';
import type { HttpLeadsConfig } from '../../../src/leads/upstream/http-source.ts';

const hasWords = (section: Record<string, unknown>): boolean =>
  /\{(?:query|terms)\}/.test(JSON.stringify(section));

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
