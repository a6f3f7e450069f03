import type { LeadSourceConfig, LeadSourceDefinition } from './lead-source-definition.ts';

export interface EmbeddedLeadsConfig extends LeadSourceConfig {
  kind: 'embedded';
}

/** The first start generates the fictional profiles in a few seconds; its first search waits for them. */
const firstSearchWaitMs = 10_000;
const seed = 1;

export const embeddedSource: LeadSourceDefinition<EmbeddedLeadsConfig> = {
  kind: 'embedded',
  text: 'the imported profiles, in `DATA_DIR/leads`',
  variables: {},
  section: null,
  erasesForgotten: true,
  guardsItself: true,
  read: (_section, { shareMs }) => ({ kind: 'embedded', timeoutMs: shareMs }),
  open: async (_config, { folder, people, sweep, isAlone, syntheticProfiles, log }) => {
    const { openSqliteLeads } = await import('./sqlite/open-sqlite-leads.ts');
    return openSqliteLeads({
      folder,
      fictional: { seed, profiles: isAlone ? syntheticProfiles : 0 },
      people,
      sweep,
      log,
      readyWaitMs: isAlone ? firstSearchWaitMs : 0,
    });
  },
};
