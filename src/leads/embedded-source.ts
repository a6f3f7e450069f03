import { z } from 'zod';
import type { S3Values } from '../http/s3/s3-settings.ts';
import type { VariableValues } from '../kit/variables.ts';
import type { LeadSourceConfig, LeadSourceDefinition } from './lead-source-definition.ts';
import type { LeadSource } from './lead-source.ts';
import type { OldForgottenLists } from './move-forgotten-list.ts';

export interface EmbeddedLeadsConfig extends LeadSourceConfig {
  kind: 'embedded';
}

export const formerVariables = {
  LEADS_URL: z
    .string()
    .optional()
    .describe(
      'place where a fleet of an earlier version shared profiles: its list of forgotten people is taken over, and the start ends; ' +
        'see [To upgrade](../CHANGELOG.md#to-upgrade)',
    ),
};

/** Returns the place of `LEADS_URL` with the settings of its bucket; null if it is not set. */
export const readFormerPlace = (
  values: VariableValues<typeof formerVariables> & S3Values,
): OldForgottenLists['formerPlace'] =>
  values.LEADS_URL === undefined ? null : { url: values.LEADS_URL, values };

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
