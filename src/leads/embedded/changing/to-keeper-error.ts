import { accessSync, constants, existsSync } from 'node:fs';
import { userName } from '../../../kit/user-name.ts';
import { LeadKeeperError } from '../../lead-keeper.ts';
import { ForgottenListDamagedError } from '../forgotten-claim.ts';
import { stagingFolder } from '../lead-folder.ts';
import { ManifestUnreadableError } from '../manifest.ts';
import { SegmentDamagedError } from '../segment/segment-format.ts';
import { SpoolDamagedError } from '../sorting/spool-format.ts';
import { readDiskRoom, reserveOf, type ReadDiskRoom } from './disk-room.ts';

export interface KeeperErrorOptions {
  /** Puts what has no words of its own. */
  describe?: (reason: string) => string;
  readRoom?: ReadDiskRoom;
}

/** What went wrong with the profiles stored in `folder`, as an operator is told. */
export const toKeeperError = (
  cause: unknown,
  folder: string,
  { describe = changeFailed, readRoom = readDiskRoom }: KeeperErrorOptions = {},
): LeadKeeperError => {
  if (cause instanceof LeadKeeperError) return cause;
  // What this user may not read is not damaged.
  const trouble = folderTrouble(cause instanceof ManifestUnreadableError ? cause.cause : cause, folder);
  if (trouble !== null)
    return new LeadKeeperError('failed', `${folder} cannot be used: ${trouble}.`, { cause });
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
  if (isDiskFull(cause)) return new LeadKeeperError('failed', noRoom(cause, { folder, readRoom }), { cause });
  return new LeadKeeperError('failed', describe(cause instanceof Error ? cause.message : String(cause)), {
    cause,
  });
};

const changeFailed = (reason: string): string =>
  `The change of the stored profiles failed (${reason}). What is searched is as it was.`;

/** The system's, or else SQLite's; null for other errors. */
const codeOf = (error: unknown): string | null => {
  if (!(error instanceof Error)) return null;
  // SQLite's more precise codes have the general one in their last byte.
  if ('errcode' in error) return sqliteCodes.get(Number(error.errcode) & 0xff) ?? null;
  return 'code' in error ? String(error.code) : null;
};

const sqliteCodes: ReadonlyMap<number, string> = new Map([
  [8, 'EACCES'],
  [13, 'ENOSPC'],
  [14, 'SQLITE_CANTOPEN'],
]);

const shortages: ReadonlyMap<string, (folder: string) => string> = new Map([
  ['ENOSPC', (folder) => `There is not enough room on the disk of ${folder}`],
  ['EDQUOT', (folder) => `This user may not fill more of the disk of ${folder}`],
  ['EFBIG', (folder) => `This user may not write files as large as ${folder} needs (ulimit -f)`],
]);

/** Whether nothing more can be written: the disk is full, or this user may not fill more of it. */
export const isDiskFull = (error: unknown): boolean => shortages.has(codeOf(error) ?? '');

const megabytes = (bytes: number): string => `${Math.floor(bytes / 1e6).toLocaleString('en-US')} MB`;

const noRoom = (cause: unknown, { folder, readRoom }: { folder: string; readRoom: ReadDiskRoom }): string => {
  const code = codeOf(cause) ?? '';
  const shortage = shortages.get(code)?.(folder);
  const room = code === 'ENOSPC' ? readRoom(folder) : null;
  const figures =
    room === null
      ? ''
      : `: ${megabytes(room.free)} are free, and ${megabytes(reserveOf(room))} are kept for the gateway`;
  const staged = existsSync(stagingFolder(folder))
    ? ` ${stagingFolder(folder)} holds the import that stopped: the same command goes on with it, and an import of other files gives it up.`
    : '';
  return `${shortage}${figures}. Nothing is lost. ${code === 'EFBIG' ? 'Raise that limit' : 'Make room'} and try again.${staged}`;
};

const otherUser = (): string =>
  `the user ${userName()} may not read and write all of it; run the command as the user that the gateway runs as`;

const folderTroubles: ReadonlyMap<string, () => string> = new Map([
  ['EACCES', otherUser],
  ['EPERM', otherUser],
  ['EROFS', () => 'nothing can be written to that disk'],
  ['ENOENT', () => 'it is not there and cannot be made; its disk may be for reading only'],
  ['ENOTDIR', () => 'a part of its path is no folder'],
  ['EEXIST', () => 'it is no folder'],
]);

/** Why nothing can be written in `folder`; null: the error is of another kind. */
const folderTrouble = (error: unknown, folder: string): string | null => {
  const code = codeOf(error);
  // Within the folder a missing file is of another kind.
  if (code === null || (code === 'ENOENT' && existsSync(folder))) return null;
  // SQLite does not say whether it is the user or the disk.
  const told = isOfSqlite(error) ? (accessTrouble(folder) ?? code) : code;
  return folderTroubles.get(told)?.() ?? null;
};

const isOfSqlite = (error: unknown): boolean => error instanceof Error && 'errcode' in error;

const accessTrouble = (folder: string): string | null => {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return codeOf(error);
  }
};

/** Whether `error` says that nothing can be written in the folder of the profiles. */
export const isFolderTrouble = (error: unknown, folder: string): boolean =>
  isDiskFull(error) || folderTrouble(error, folder) !== null;
