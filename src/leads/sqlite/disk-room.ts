import { statfsSync } from 'node:fs';

/** Sizes in bytes of the disk that holds a folder. */
export interface DiskRoom {
  /** For this user. */
  free: number;
  whole: number;
}

export type ReadDiskRoom = (folder: string) => DiskRoom | null;

/** Null if unknown. */
export const readDiskRoom: ReadDiskRoom = (folder) => {
  try {
    const { bavail, blocks, bsize } = statfsSync(folder);
    return { free: bavail * bsize, whole: blocks * bsize };
  } catch {
    return null;
  }
};

const largestReserve = 256_000_000;
const reserveShare = 0.05;

/** The space that an import leaves free, because a gateway stops when the disk with its ledger is full. */
export const reserveOf = ({ whole }: Pick<DiskRoom, 'whole'>): number =>
  Math.min(largestReserve, whole * reserveShare);

/** The free space of the disk has reached the reserve. */
class NoRoomError extends Error {
  override readonly name = 'NoRoomError';
  readonly code = 'ENOSPC';
  override readonly message = 'the remaining disk space is reserved for the gateway';
}

/** Throws NoRoomError if `bytes` more on the disk of `folder` would reach into the reserve. */
const requireRoom = (
  folder: string,
  { bytes, readRoom }: { bytes: number; readRoom: ReadDiskRoom },
): void => {
  const room = readRoom(folder);
  if (room !== null && room.free - bytes < reserveOf(room)) throw new NoRoomError();
};

/** A fast disk writes less than the reserve in this time. */
const lookMs = 50;

/**
 * Runs `work` while the disk of `folder` has more free space than the reserve. Otherwise it rejects with NoRoomError
 * before the work, or aborts the signal given to it.
 */
export const withinRoom = async <T>(
  folder: string,
  { signal, readRoom }: { signal: AbortSignal; readRoom: ReadDiskRoom },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const lack = new AbortController();
  requireRoom(folder, { bytes: 0, readRoom });
  const timer = setInterval(() => {
    try {
      requireRoom(folder, { bytes: 0, readRoom });
    } catch (error) {
      lack.abort(error);
    }
  }, lookMs);
  try {
    return await work(AbortSignal.any([signal, lack.signal]));
  } finally {
    clearInterval(timer);
  }
};
