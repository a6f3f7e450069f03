import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../kit/ids.ts';
import { assertRoom, type ReadFree } from '../kit/disk.ts';
import { removeOldFiles } from '../kit/files.ts';
import { createMemoryBudget, type ReserveOptions } from '../limits/memory-budget.ts';

export interface HoldOptions extends ReserveOptions {
  maxBytes: number;
}

const usualTotalBytes = 4 * 1024 ** 3;
/** The check of an input never takes this long. */
const abandonedMs = 3_600_000;

export type InputFolder = ReturnType<typeof createInputFolder>;

export const createInputFolder = ({
  directory,
  totalBytes = usualTotalBytes,
  readFree,
}: {
  directory: string;
  totalBytes?: number;
  readFree?: ReadFree;
}) => {
  const space = createMemoryBudget({ totalBytes });
  return {
    /**
     * Calls `use` with the path of a file to create, and removes the file afterwards. Waits while the files of others may
     * fill the folder. Throws AppError `overloaded` if that takes too long, ENOSPC if the disk has no room, or the
     * signal's reason.
     */
    hold: async <Result>(
      { maxBytes, ...whom }: HoldOptions,
      use: (file: string) => Promise<Result>,
    ): Promise<Result> => {
      const release = await space.reserve(maxBytes, whom);
      const file = join(directory, newId());
      try {
        await mkdir(directory, { recursive: true });
        await assertRoom(directory, maxBytes, readFree);
        return await use(file);
      } finally {
        await rm(file, { force: true }).finally(release);
      }
    },
    /** Removes files that a killed process left behind. */
    sweep: () => removeOldFiles(directory, { olderThan: Date.now() - abandonedMs }),
  };
};
