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

const noRoom = (): Error =>
  Object.assign(new Error('the remaining disk space is reserved for the gateway'), { code: 'ENOSPC' });

/** A fast disk writes less than the reserve in this time. */
const lookMs = 50;

/**
 * Runs `work` while the disk of `folder` has more free space than the reserve. Otherwise it rejects with
 * ENOSPC before the work, or aborts the signal given to it. `firstBytes` are those that the work writes at once.
 */
export const withinRoom = async <T>(
  folder: string,
  { firstBytes, signal, readRoom }: { firstBytes: number; signal: AbortSignal; readRoom: ReadDiskRoom },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const lack = new AbortController();
  const look = (bytes = 0): void => {
    const room = readRoom(folder);
    if (room !== null && room.free - bytes < reserveOf(room)) lack.abort(noRoom());
  };
  look(firstBytes);
  lack.signal.throwIfAborted();
  using _looking = setInterval(look, lookMs);
  return await work(AbortSignal.any([signal, lack.signal]));
};
