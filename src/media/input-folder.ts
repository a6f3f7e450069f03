import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../kit/ids.ts';
import { removeOldFiles } from '../kit/remove-old-files.ts';
import { createMemoryBudget, type ReserveOptions } from '../limits/memory-budget.ts';

export interface HoldOptions extends ReserveOptions {
  /** The file grows to so many at most. */
  maxBytes: number;
}

/** Where large inputs lie while they are checked. */
export interface InputFolder {
  /**
   * Hands out the path of a file that is not there yet, and removes it when the use of it has ended. Waits while the files
   * of others may fill the folder: throws AppError `overloaded` after a while, and the signal's reason when it aborts.
   */
  hold<Result>(options: HoldOptions, use: (file: string) => Promise<Result>): Promise<Result>;
  /** Removes files that a killed process left behind. */
  sweep(): Promise<void>;
}

const usualTotalBytes = 4 * 1024 ** 3;
/** No input is checked for this long. */
const abandonedMs = 3_600_000;

export const createInputFolder = ({
  directory,
  totalBytes = usualTotalBytes,
}: {
  directory: string;
  totalBytes?: number;
}): InputFolder => {
  const space = createMemoryBudget({ totalBytes });
  return {
    hold: async ({ maxBytes, ...whom }, use) => {
      const release = await space.reserve(maxBytes, whom);
      const file = join(directory, newId());
      try {
        await mkdir(directory, { recursive: true });
        return await use(file);
      } finally {
        await rm(file, { force: true }).finally(release);
      }
    },
    sweep: () => removeOldFiles(directory, abandonedMs),
  };
};
