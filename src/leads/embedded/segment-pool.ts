import { statSync } from 'node:fs';
import { join } from 'node:path';
import { openSegment, type Segment } from './segment/open-segment.ts';
import { SegmentDamagedError } from './segment/segment-format.ts';

/** Open segments of a folder. A segment that two generations share is opened once. */
export interface SegmentPool {
  /**
   * Opens the segment that is now under this name. A restored backup reuses the names of replaced files, which stay
   * open. Throws SegmentDamagedError.
   */
  open(file: string): Segment;
  /** Closes all but these. */
  closeExcept(kept: readonly (Segment | undefined)[]): void;
}

export const createSegmentPool = (folder: string): SegmentPool => {
  const segments = new Map<string, Segment>();
  return {
    open: (file) => {
      const path = join(folder, file);
      const identity = fileIdentity(path);
      if (identity === null) throw new SegmentDamagedError(`${path} is missing`);
      const known = segments.get(identity);
      if (known !== undefined) return known;
      const segment = openSegment(path);
      segments.set(identity, segment);
      return segment;
    },
    closeExcept: (kept) => {
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
