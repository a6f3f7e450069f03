import { z } from 'zod';
import type { S3Values } from '../../http/s3/s3-settings.ts';
import type { VariableValues } from '../../kit/variables.ts';
import type { LeadSourceConfig, LeadSourceDefinition, LeadSourceOrigin } from '../lead-source-definition.ts';
import { openPlace, readPlaceConfig, type PlaceConfig } from '../shared/shared-place.ts';

export interface EmbeddedLeadsConfig extends LeadSourceConfig {
  kind: 'embedded';
  /** The place that a fleet shares; null: the profiles are on this machine alone. */
  place: PlaceConfig | null;
}

/** The first start generates the fictional profiles in a few seconds; its first search waits for them. */
const firstSearchWaitMs = 10_000;

export const embeddedVariables = {
  LEADS_URL: z
    .string()
    .optional()
    .describe(
      'place where a fleet shares the imported profiles: `s3://BUCKET/PREFIX`, or a folder that all machines mount; ' +
        'see [Profiles for a fleet](operators-profiles.md#profiles-for-a-fleet)',
    ),
};

type EmbeddedValues = S3Values & VariableValues<typeof embeddedVariables>;

export const embeddedSource: LeadSourceDefinition<EmbeddedLeadsConfig> = {
  kind: 'embedded',
  text: 'the imported profiles, in `DATA_DIR/leads` or `LEADS_URL`',
  variables: embeddedVariables,
  section: null,
  erasesForgotten: true,
  guardsItself: true,
  read: (_section, { values, shareMs }: LeadSourceOrigin<EmbeddedValues>) => ({
    kind: 'embedded',
    timeoutMs: shareMs,
    place: values.LEADS_URL === undefined ? null : readPlaceConfig(values.LEADS_URL, values),
  }),
  open: async ({ place }, { folder, isAlone, syntheticProfiles, log }) => {
    const options = {
      syntheticProfiles: isAlone ? syntheticProfiles : 0,
      log,
      limits: { readyWaitMs: isAlone ? firstSearchWaitMs : 0 },
    };
    if (place === null) {
      const { openEmbeddedLeads } = await import('./open-embedded-leads.ts');
      return openEmbeddedLeads({ folder, ...options });
    }
    const { openSharedLeads } = await import('../shared/open-shared-leads.ts');
    return openSharedLeads(await openPlace(place), { folder: `${folder}-shared`, ...options });
  },
};
