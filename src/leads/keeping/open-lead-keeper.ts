import { resolve } from 'node:path';
import type { LeadKeeper } from '../lead-keeper.ts';
import { openPlace, type PlaceConfig } from '../shared/shared-place.ts';

/** Where the profiles are that gateways search. */
export interface KeptPlace {
  /** The place of a fleet (LEADS_URL); null: the index in `folder`. */
  shared: PlaceConfig | null;
  /** The absolute path of the index, or of the work folder of changes to the shared profiles. */
  folder: string;
}

export const toKeptPlace = ({
  shared,
  dataDir,
}: Pick<KeptPlace, 'shared'> & { dataDir: string }): KeptPlace => ({
  shared,
  folder: resolve(dataDir, shared === null ? 'leads' : 'leads-changes'),
});

/** Opens the keeper of a place, and loads only its engine. Rejects with LeadKeeperError. */
export const openLeadKeeper = async ({ shared, folder }: KeptPlace): Promise<LeadKeeper> => {
  if (shared !== null) {
    const { openSharedKeeper } = await import('../shared/open-shared-keeper.ts');
    return openSharedKeeper(await openPlace(shared), { folder });
  }
  const { openEmbeddedKeeper } = await import('../embedded/open-embedded-keeper.ts');
  return openEmbeddedKeeper({ folder });
};
