import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { LeadKeeperError } from './lead-keeper.ts';

/** Digests do not tell the names, and a list of another salt would hide which of them were restored since. */
const remedy =
  'run "causeway leads delete --file FILE" with the names of everybody who asked to be forgotten, and import the profiles again';

/** A setting of earlier versions, which is refused. */
export const formerVariables = {
  LEADS_URL: z
    .never(
      'gateways share profiles in PostgreSQL (DATABASE_URL) or in a search service (LEADS_SOURCES=http). This version ' +
        `does not read the list of forgotten people there: unset it, ${remedy}`,
    )
    .optional()
    .describe(
      'place where a fleet of an earlier version shared profiles; is refused, see [Profiles for a fleet](operators-profiles.md#profiles-for-a-fleet)',
    ),
};

/**
 * Refuses a data folder in which an earlier version kept a list of forgotten people: without these people on the list of
 * the store, an import would bring them back. Throws LeadKeeperError.
 */
export const refuseOldLists = (dataDir: string): void => {
  const kept = ['leads/forgotten.db', 'leads-changes/profiles/forgotten.db', 'leads-shared/place.json'];
  const found = kept.map((path) => join(dataDir, path)).find((path) => existsSync(path));
  if (found !== undefined)
    throw new LeadKeeperError(
      'failed',
      `${found} is the list of forgotten people of an earlier version of Causeway, which this version does not read. Move it away, ${remedy}.`,
    );
};
