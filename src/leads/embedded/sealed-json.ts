import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';

/**
 * Puts `value` in the place of `file` in one step, on the disk when it returns: whatever happens, `file` holds the old
 * value or the new one, whole. One writer at a time.
 */
export const writeSealedJson = (file: string, value: object): void => {
  const temporary = `${file}.new`;
  const descriptor = openSync(temporary, 'w');
  try {
    writeSync(descriptor, `${JSON.stringify({ ...value, crc32: checksum(value) }, null, 2)}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
  syncFolder(dirname(file));
};

/**
 * What was written to `file`, so that its shape need not be doubted; null when there is no such file. Throws when it
 * is anything else than what was written.
 */
export const readSealedJson = (file: string): object | null => {
  const text = textOf(file);
  if (text === null) return null;
  const value: unknown = JSON.parse(text);
  if (value === null || typeof value !== 'object' || !('crc32' in value))
    throw new Error(`${file} has no checksum`);
  const { crc32: expected, ...rest } = value;
  if (checksum(rest) !== expected) throw new Error(`${file} is not as it was written`);
  return rest;
};

/** Makes new names in `folder`, and those that are gone, last through a loss of power. */
export const syncFolder = (folder: string): void => {
  // Windows has no such call: a folder cannot be opened there.
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};

const checksum = (value: object): number => crc32(JSON.stringify(value));

const textOf = (file: string): string | null => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
};
