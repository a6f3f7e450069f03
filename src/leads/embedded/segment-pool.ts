import { statSync } from 'node:fs';
import { join } from 'node:path';
import { openSegment, type Segment } from './segment/open-segment.ts';
import { SegmentDamagedError } from './segment/segment-format.ts';

export type SegmentPool = ReturnType<typeof createSegmentPool>;

/** Keeps segments of a folder open. A segment that two generations share is opened once. */
export const createSegmentPool = (folder: string) => {
  const segments = new Map<string, Segment>();
  return {
    /**
     * Opens the segment that is now under this name. A restored backup reuses the names of replaced files, which stay
     * open. Throws SegmentDamagedError.
     */
    open: (file: string): Segment => {
      const path = join(folder, file);
      const identity = fileIdentity(path);
      if (identity === null) throw new SegmentDamagedError(`${path} is missing`);
      const known = segments.get(identity);
      if (known !== undefined) return known;
      const segment = openSegment(path);
      segments.set(identity, segment);
      return segment;
    },
    closeExcept: (kept: readonly (Segment | undefined)[]): void => {
      for (const [identity, segment] of segments) {
        if (kept.includes(segment)) continue;
        segments.delete(identity);
        segment.close();
      }
    },
  };
};

/** Identifies the file under a name, independent of its content; null without a file. */
export const fileIdentity = (path: string): string | null => {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.dev} ${found.ino}`;
};
