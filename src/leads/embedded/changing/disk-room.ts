import { statfsSync } from 'node:fs';

/** Of the disk a folder is on, in bytes. */
export interface DiskRoom {
  /** For this user. */
  free: number;
  whole: number;
}

export type ReadDiskRoom = (folder: string) => DiskRoom | null;

/** Null: it cannot be told. */
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

/** What an import leaves free: a gateway keeps its ledger and payments on the same disk, and stops where it is full. */
export const reserveOf = ({ whole }: Pick<DiskRoom, 'whole'>): number =>
  Math.min(largestReserve, whole * reserveShare);

/** An import has come to the reserve. */
class NoRoomError extends Error {
  readonly code = 'ENOSPC';

  constructor() {
    super('the rest of the disk is kept for the gateway');
    this.name = 'NoRoomError';
  }
}

/** A fast disk takes less than the reserve meanwhile. */
const lookMs = 50;

/**
 * Does `work` while there is more room on the disk of `folder` than the reserve. Without it rejects with NoRoomError before,
 * and aborts the signal that it hands out during the work.
 */
export const withinRoom = async <T>(
  folder: string,
  { signal, readRoom }: { signal: AbortSignal; readRoom: ReadDiskRoom },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const lack = new AbortController();
  const look = (): void => {
    const room = readRoom(folder);
    if (room !== null && room.free < reserveOf(room)) lack.abort(new NoRoomError());
  };
  look();
  lack.signal.throwIfAborted();
  const timer = setInterval(look, lookMs);
  try {
    return await work(AbortSignal.any([signal, lack.signal]));
  } finally {
    clearInterval(timer);
  }
};
