import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openSegment, type Segment } from './segment/open-segment.ts';
import { SegmentDamagedError } from './segment/segment-format.ts';

/** Open segments of a folder by their file's name, so that what two generations share is opened once. */
export interface SegmentPool {
  /** Throws SegmentDamagedError. */
  open(file: string): Segment;
  /** Closes all but those of these files. */
  closeExcept(files: readonly (string | undefined)[]): void;
}

export const createSegmentPool = (folder: string): SegmentPool => {
  const segments = new Map<string, Segment>();
  return {
    open: (file) => {
      const known = segments.get(file);
      if (known !== undefined) return known;
      const path = join(folder, file);
      if (!existsSync(path)) throw new SegmentDamagedError(`${path} is missing`);
      const segment = openSegment(path);
      segments.set(file, segment);
      return segment;
    },
    closeExcept: (files) => {
      for (const [file, segment] of segments) {
        if (files.includes(file)) continue;
        segments.delete(file);
        segment.close();
      }
    },
  };
};
