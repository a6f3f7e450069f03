import { ConfigError } from '../../kit/errors.ts';
import { postgresUrl } from '../../kit/variables.ts';
import type { LeadSourceConfig, LeadSourceDefinition, LeadSourceOrigin } from '../lead-source-definition.ts';

export interface PostgresLeadsConfig extends LeadSourceConfig {
  kind: 'postgres';
  url: string;
}

interface Values {
  LEADS_DATABASE_URL?: string;
  DATABASE_URL?: string;
}

/** The lead source that is a PostgreSQL database. */
export const postgresSource: LeadSourceDefinition<PostgresLeadsConfig> = {
  kind: 'postgres',
  text: 'the profiles imported into PostgreSQL',
  variables: {
    LEADS_DATABASE_URL: postgresUrl
      .optional()
      .describe('PostgreSQL database of the source `postgres`; `DATABASE_URL` when unset'),
  },
  section: null,
  erasesForgotten: true,
  read: (_section, { values, shareMs }: LeadSourceOrigin<Values>) => {
    const url = values.LEADS_DATABASE_URL ?? values.DATABASE_URL;
    if (url === undefined)
      throw new ConfigError(
        'LEADS_DATABASE_URL: must be set (or DATABASE_URL) for LEADS_SOURCES with postgres',
      );
    return { kind: 'postgres', timeoutMs: shareMs, url };
  },
  open: async ({ url }, { log }) => {
    const { openPostgresLeads } = await import('./open-postgres-leads.ts');
    return openPostgresLeads({ url, log });
  },
};
