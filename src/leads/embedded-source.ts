import type { LeadSourceConfig, LeadSourceDefinition } from './lead-source-definition.ts';
import type { LeadSource } from './lead-source.ts';

export interface EmbeddedLeadsConfig extends LeadSourceConfig {
  kind: 'embedded';
}

/** The first start generates the fictional profiles in a few seconds; its first search waits for them. */
const firstSearchWaitMs = 10_000;
const seed = 1;

export const embeddedSource: LeadSourceDefinition<EmbeddedLeadsConfig> = {
  kind: 'embedded',
  text: 'the imported profiles, in PostgreSQL with `DATABASE_URL`, else in `DATA_DIR/leads`',
  variables: {},
  section: null,
  guardsItself: true,
  read: (_section, { shareMs }) => ({ kind: 'embedded', timeoutMs: shareMs }),
  open: async (_config, context) => {
    const { databaseUrl: url, folder, isAlone, syntheticProfiles, people, sweep, log } = context;
    const openFolder = async (): Promise<LeadSource> => {
      const { openSqliteLeads } = await import('./sqlite/open-sqlite-leads.ts');
      return openSqliteLeads({
        folder,
        fictional: { seed, profiles: isAlone ? syntheticProfiles : 0 },
        people,
        sweep,
        log,
        readyWaitMs: isAlone ? firstSearchWaitMs : 0,
      });
    };
    if (url === null) return openFolder();
    const { leftInFolder } = await import('./sqlite/profiles-folder.ts');
    const left = leftInFolder(folder);
    if (left !== null) log.warn(left);
    const { openPostgresLeads } = await import('./postgres/open-postgres-leads.ts');
    return openPostgresLeads({
      url,
      people,
      sweep,
      log,
      openFictional: left === null && isAlone ? openFolder : null,
    });
  },
};
