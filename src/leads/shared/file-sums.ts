import { statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readSealedJson, writeSealedJson } from '../embedded/sealed-json.ts';
import { sumOf } from './fetch-object.ts';

export const sumsName = 'sums.json';
const knownSums = z.object({
  sums: z.record(z.string(), z.object({ stamp: z.string(), sha256: z.string() })),
});

/** A file that was changed so lately may be changed again without another time. */
const settledMs = 1_000;

/** The SHA-256 of files in a folder. They are stored, so that files of gigabytes are read once. */
export const openFileSums = (folder: string) => {
  const file = join(folder, sumsName);
  const sums = readSums(file);
  return {
    of: async (name: string): Promise<string> => {
      const path = join(folder, name);
      const { ino, size, mtimeNs, mtimeMs } = statSync(path, { bigint: true });
      const stamp = `${ino} ${size} ${mtimeNs}`;
      const known = sums[name];
      if (known?.stamp === stamp) return known.sha256;
      const isSettled = Date.now() - Number(mtimeMs) > settledMs;
      const sha256 = await sumOf(path);
      if (isSettled) {
        sums[name] = { stamp, sha256 };
        writeSealedJson(file, { sums });
      }
      return sha256;
    },
  };
};

const readSums = (file: string): z.infer<typeof knownSums>['sums'] => {
  try {
    return knownSums.parse(readSealedJson(file)).sums;
  } catch {
    // Without it, the files are read again.
    return {};
  }
};
