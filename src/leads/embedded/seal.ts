import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';

/** The file beside an index that tells what its bytes were when it was finished. */
const sealFileOf = (file: string): string => `${file}.seal`;

/** Seals `file` as it is now, for the place it will be renamed to, `target`. Reads it whole; synchronous. */
export const writeSeal = (file: string, target: string): void =>
  writeFileSync(sealFileOf(target), measure(file));

/**
 * Whether `file` is, byte for byte, what was sealed: SQLite itself notices a lost page only when it comes across
 * it, and a changed letter never. Reads the file whole; synchronous.
 */
export const isSealIntact = (file: string): boolean => {
  const seal = sealFileOf(file);
  return existsSync(seal) && readFileSync(seal, 'utf8') === measure(file);
};

const chunkBytes = 1024 * 1024;

const measure = (file: string): string => {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(chunkBytes);
  const descriptor = openSync(file, 'r');
  let bytes = 0;
  try {
    for (;;) {
      const length = readSync(descriptor, buffer);
      if (length === 0) return JSON.stringify({ bytes, sha256: hash.digest('hex') });
      hash.update(buffer.subarray(0, length));
      bytes += length;
    }
  } finally {
    closeSync(descriptor);
  }
};
