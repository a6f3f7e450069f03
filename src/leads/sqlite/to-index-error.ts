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
  const trouble = folderTrouble(cause, folder);
  if (trouble !== null) return make('failed', `${folder} cannot be used: ${trouble}.`);
  if (isDamage(cause))
    return make(
      'damaged',
      'The stored profiles are damaged. Restore a backup of their folder, or import all profiles again and replace them.',
    );
  const shortage = noRoom(cause, folder, readRoom);
  return make('failed', shortage ?? describe(cause instanceof Error ? cause.message : String(cause)));
};

/** Returns the system's error code, or else SQLite's; '' for other errors. */
const codeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return '';
  // SQLite's extended codes have the general code in their last byte.
  if ('errcode' in error) return sqliteCodes.get(Number(error.errcode) & 0xff) ?? '';
  return 'code' in error ? String(error.code) : '';
};

const sqliteCodes: ReadonlyMap<number, string> = new Map([
  [8, 'EACCES'],
  [13, 'ENOSPC'],
  [14, 'SQLITE_CANTOPEN'],
]);

const shortages: ReadonlyMap<string, (folder: string) => string> = new Map([
  ['ENOSPC', (folder) => `There is not enough free space on the disk of ${folder}`],
  ['EDQUOT', (folder) => `The disk quota of this user is used up (${folder})`],
  ['EFBIG', (folder) => `The limit on file sizes is too small for ${folder} (ulimit -f)`],
]);

const megabytes = (bytes: number): string => `${Math.floor(bytes / 1e6).toLocaleString('en-US')} MB`;

/** Explains that the disk, or this user's share of it, is full; null for other errors. */
const noRoom = (cause: unknown, folder: string, readRoom: ReadDiskRoom): string | null => {
  const code = codeOf(cause);
  const shortage = shortages.get(code)?.(folder);
  if (shortage === undefined) return null;
  const room = code === 'ENOSPC' ? readRoom(folder) : null;
  const figures =
    room === null
      ? ''
      : `: ${megabytes(room.free)} are free, and ${megabytes(reserveOf(room))} are reserved for the gateway`;
  return `${shortage}${figures}. Nothing is lost. ${code === 'EFBIG' ? 'Raise that limit' : 'Free some space'} and try again.`;
};

const otherUser = (): string =>
  `the user ${userName()} may not read and write all of it; run the command as the user of the gateway`;

const folderTroubles: ReadonlyMap<string, () => string> = new Map([
  ['EACCES', otherUser],
  ['EPERM', otherUser],
  ['EROFS', () => 'the disk is read-only'],
  ['ENOENT', () => 'it does not exist and cannot be created; the disk may be read-only'],
  ['ENOTDIR', () => 'a part of its path is not a folder'],
  ['EEXIST', () => 'it is not a folder'],
]);

/** Explains why `folder` is not writable; null for other errors. */
const folderTrouble = (error: unknown, folder: string): string | null => {
  const code = codeOf(error);
  // A missing file within the folder is another kind of error.
  if (code === 'ENOENT' && existsSync(folder)) return null;
  // SQLite does not distinguish between the user's rights and the disk.
  const told = error instanceof Error && 'errcode' in error ? accessTrouble(folder) || code : code;
  return folderTroubles.get(told)?.() ?? null;
};

const accessTrouble = (folder: string): string => {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return '';
  } catch (error) {
    return codeOf(error);
  }
};
