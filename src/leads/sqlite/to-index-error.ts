import { accessSync, constants, existsSync } from 'node:fs';
import { userName } from '../../kit/process.ts';
import { changeFailed, LeadIndexError } from '../lead-index.ts';
import { isDamage } from './profiles-file.ts';
import { readDiskRoom, reserveOf, type ReadDiskRoom } from './disk-room.ts';

export interface IndexErrorOptions {
  /** Formats a cause that has no message of its own. */
  describe?: (reason: string) => string;
  readRoom?: ReadDiskRoom;
}

/** Explains to an operator what is wrong with the profiles in `folder`. */
export const toIndexError = (
  cause: unknown,
  folder: string,
  { describe = changeFailed, readRoom = readDiskRoom }: IndexErrorOptions = {},
): LeadIndexError => {
  if (cause instanceof LeadIndexError) return cause;
  const make = (problem: 'damaged' | 'failed', message: string): LeadIndexError =>
    new LeadIndexError(problem, message, { cause });
  const code = codeOf(cause, folder);
  const trouble = folderTrouble(code);
  if (trouble !== null) return make('failed', `${folder} cannot be used: ${trouble}.`);
  if (isDamage(cause))
    return make(
      'damaged',
      'The stored profiles are damaged, or of another version, which can export them. Restore a backup of their folder, or import all profiles again and replace them.',
    );
  const shortage = shortageOf(code, folder, readRoom);
  return make('failed', shortage ?? describe(cause instanceof Error ? cause.message : String(cause)));
};

/** Codes of the system, by SQLite's. Its extended codes have the general code in their last byte. */
const sqliteCodes: Readonly<Record<number, string>> = { 8: 'EACCES', 13: 'ENOSPC' };

/** Returns the system's code of an error that concerns the folder or its disk; '' for other errors. */
const codeOf = (error: unknown, folder: string): string => {
  if (!(error instanceof Error)) return '';
  // SQLite does not distinguish between the user's rights and the disk.
  if ('errcode' in error) return accessTrouble(folder) || (sqliteCodes[Number(error.errcode) & 0xff] ?? '');
  const code = 'code' in error ? String(error.code) : '';
  // A missing file within the folder is another kind of error.
  return code === 'ENOENT' && existsSync(folder) ? '' : code;
};

const accessTrouble = (folder: string): string => {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return '';
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : '';
  }
};

/** Explains why a folder is not writable; null for other errors. */
const folderTrouble = (code: string): string | null => {
  const notAllowed = `the user ${userName()} may not read and write all of it; run the command as the user of the gateway`;
  const troubles: Readonly<Record<string, string>> = {
    EACCES: notAllowed,
    EPERM: notAllowed,
    EROFS: 'the disk is read-only',
    ENOENT: 'it does not exist and cannot be created; the disk may be read-only',
    ENOTDIR: 'a part of its path is not a folder',
    EEXIST: 'it is not a folder',
  };
  return troubles[code] ?? null;
};

const megabytes = (bytes: number): string => `${Math.floor(bytes / 1e6).toLocaleString('en-US')} MB`;

/** Explains that the disk, or this user's share of it, is full; null for other errors. */
const shortageOf = (code: string, folder: string, readRoom: ReadDiskRoom): string | null => {
  const again = 'Nothing is lost. Free some space and try again.';
  if (code === 'EDQUOT') return `The disk quota of this user is used up (${folder}). ${again}`;
  if (code === 'EFBIG')
    return `The limit on file sizes is too small for ${folder} (ulimit -f). Nothing is lost. Raise that limit and try again.`;
  if (code !== 'ENOSPC') return null;
  const room = readRoom(folder);
  const figures =
    room &&
    `: ${megabytes(room.free)} are free, and ${megabytes(reserveOf(room))} are reserved for the gateway`;
  return `There is not enough free space on the disk of ${folder}${figures ?? ''}. ${again}`;
};
