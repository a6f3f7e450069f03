import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const sealSchema = z.strictObject({ bytes: z.int(), sha256: z.string() });

/** The file beside an index that tells what its bytes were when it was finished. */
export const sealFileOf = (file: string): string => `${file}.seal`;

/** Seals `file` as it is now, for the index it will be renamed to, `target`. */
export const writeSeal = (file: string, target: string): void =>
  writeFileSync(sealFileOf(target), JSON.stringify(measure(file)));

/** Whether `file` is, byte for byte, what was sealed. Reads it whole; synchronous. */
export const isSealIntact = (file: string): boolean => {
  const sealed = sealSchema.safeParse(readJson(sealFileOf(file)));
  if (!sealed.success) return false;
  const { bytes, sha256 } = measure(file);
  return bytes === sealed.data.bytes && sha256 === sealed.data.sha256;
};

const measure = (file: string): z.infer<typeof sealSchema> => {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(1024 * 1024);
  const descriptor = openSync(file, 'r');
  let bytes = 0;
  try {
    for (;;) {
      const length = readSync(descriptor, buffer);
      if (length === 0) return { bytes, sha256: hash.digest('hex') };
      hash.update(buffer.subarray(0, length));
      bytes += length;
    }
  } finally {
    closeSync(descriptor);
  }
};

const readJson = (file: string): unknown => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
};
