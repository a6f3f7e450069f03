import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { VideoSource } from '../measure-video.ts';

/** The bytes of a film, read on demand. Reading blocks on the disk, so it belongs in a thread. */
export interface FilmBytes {
  size: number;
  /** Returns fewer bytes at the end of the film. */
  read(start: number, length: number): Buffer;
  close(): void;
}

export const openBytes = (source: VideoSource): FilmBytes => {
  if (typeof source !== 'string') {
    const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
    return {
      size: bytes.length,
      read: (start, length) => bytes.subarray(start, start + length),
      close: () => {},
    };
  }
  const file = openSync(source, 'r');
  return {
    size: fstatSync(file).size,
    read: (start, length) => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(file, bytes, 0, length, start));
    },
    close: () => closeSync(file),
  };
};
