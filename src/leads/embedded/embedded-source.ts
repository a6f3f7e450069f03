import type { LeadSourceConfig, LeadSourceDefinition } from '../lead-source-definition.ts';

export interface EmbeddedLeadsConfig extends LeadSourceConfig {
  kind: 'embedded';
}

/** The first start generates the fictional profiles in a few seconds; its first search waits for them. */
const firstSearchWaitMs = 10_000;

/** The lead source that is an index in the data folder. */
export const embeddedSource: LeadSourceDefinition<EmbeddedLeadsConfig> = {
  kind: 'embedded',
  text: 'the profiles imported into `DATA_DIR/leads`',
  variables: {},
  section: null,
  erasesForgotten: true,
  guardsItself: true,
  read: (_section, { shareMs }) => ({ kind: 'embedded', timeoutMs: shareMs }),
  open: async (_config, { folder, isAlone, syntheticProfiles, log }) => {
    const { openEmbeddedLeads } = await import('./open-embedded-leads.ts');
    return openEmbeddedLeads({
      folder,
      syntheticProfiles: isAlone ? syntheticProfiles : 0,
      log,
      limits: { readyWaitMs: isAlone ? firstSearchWaitMs : 0 },
    });
  },
};
