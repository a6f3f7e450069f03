import { mkdir } from 'node:fs/promises';
import { readDiskRoom } from '../embedded/changing/disk-room.ts';
import { openEmbeddedLeads, type EmbeddedLeadsOptions } from '../embedded/open-embedded-leads.ts';
import type { OpenedLeadSource } from '../lead-source-definition.ts';
import { followPlace } from './follow-place.ts';
import type { SharedPlace } from './shared-place.ts';

/** Opens the profiles that a fleet shares in `place`. They are searched in a copy in `folder`. Closing closes `place`. */
export const openSharedLeads = async (
  place: SharedPlace,
  options: Pick<EmbeddedLeadsOptions, 'folder' | 'syntheticProfiles' | 'log' | 'limits'>,
): Promise<OpenedLeadSource> => {
  const { folder, log } = options;
  await mkdir(folder, { recursive: true });
  const follower = followPlace(place, { folder, log, readRoom: readDiskRoom });
  const leads = await openEmbeddedLeads({ ...options, startAfter: follower.whenSearchable });
  return {
    search: leads.search,
    status: leads.status,
    forgotten: follower.forgotten,
    close: async () => {
      await Promise.all([leads.close(), follower.close()]);
    },
  };
};
