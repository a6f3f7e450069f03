import { LeadKeeperError } from '../../lead-keeper.ts';
import { ManifestUnreadableError } from '../manifest.ts';
import { SegmentDamagedError } from '../segment/segment-format.ts';
import { SpoolDamagedError } from '../sorting/spool-format.ts';

/** What went wrong with the stored profiles, as an operator is told. */
export const toKeeperError = (cause: unknown): LeadKeeperError => {
  if (cause instanceof LeadKeeperError) return cause;
  if (cause instanceof SegmentDamagedError || cause instanceof ManifestUnreadableError)
    return new LeadKeeperError(
      'damaged',
      'The stored profiles are damaged. Restore a backup of their folder, or import all profiles again and replace them.',
      { cause },
    );
  if (cause instanceof SpoolDamagedError)
    return new LeadKeeperError(
      'failed',
      'What the import had stored so far is damaged and was given up. Import again, from the beginning.',
      { cause },
    );
  if (isDiskFull(cause))
    return new LeadKeeperError(
      'failed',
      'There is no room on the disk of the stored profiles. Make room and try again; nothing is lost.',
      { cause },
    );
  return new LeadKeeperError(
    'failed',
    `The change of the stored profiles failed (${cause instanceof Error ? cause.message : String(cause)}). What is searched is as it was.`,
    { cause },
  );
};

const sqliteFull = 13;

export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error &&
  (('code' in error && error.code === 'ENOSPC') || ('errcode' in error && error.errcode === sqliteFull));
