import { statSync } from 'node:fs';
import { join } from 'node:path';
import { openSegment, type Segment } from './segment/open-segment.ts';
import { SegmentDamagedError } from './segment/segment-format.ts';

/** Open segments of a folder, so that what two generations share is opened once. */
export interface SegmentPool {
  /**
   * The segment that now stands under this name: a restored backup has the names of the files it replaces, which stay
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

/** Which file stands under a name, whatever is written to it; null when none does. */
export const fileIdentity = (path: string): string | null => {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.dev} ${found.ino}`;
};
