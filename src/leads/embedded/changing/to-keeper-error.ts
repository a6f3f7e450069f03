import { LeadKeeperError } from '../../lead-keeper.ts';
import { ForgottenListDamagedError } from '../forgotten-claim.ts';
import { ManifestUnreadableError } from '../manifest.ts';
import { SegmentDamagedError } from '../segment/segment-format.ts';
import { SpoolDamagedError } from '../sorting/spool-format.ts';

/** What went wrong with the stored profiles, as an operator is told; `describe` puts what has no words of its own. */
export const toKeeperError = (cause: unknown, describe = changeFailed): LeadKeeperError => {
  if (cause instanceof LeadKeeperError) return cause;
  if (cause instanceof SegmentDamagedError || cause instanceof ManifestUnreadableError)
    return new LeadKeeperError(
      'damaged',
      'The stored profiles are damaged. Restore a backup of their folder, or import all profiles again and replace them.',
      { cause },
    );
  if (cause instanceof ForgottenListDamagedError)
    return new LeadKeeperError(
      'damaged',
      `The list of people who asked to be forgotten is damaged or missing (${cause.file}). Restore that file from a backup; the profiles need nothing, and importing does not help.`,
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
  return new LeadKeeperError('failed', describe(cause instanceof Error ? cause.message : String(cause)), {
    cause,
  });
};

const changeFailed = (reason: string): string =>
  `The change of the stored profiles failed (${reason}). What is searched is as it was.`;

const sqliteFull = 13;

export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error &&
  (('code' in error && error.code === 'ENOSPC') || ('errcode' in error && error.errcode === sqliteFull));
