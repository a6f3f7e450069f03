import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';

export interface ReplaceOptions {
  /**
   * Whether the content is on the disk when the call returns, which may take seconds on a busy disk. Otherwise a loss of
   * power may bring back the old content, or none. Default true.
   */
  isDurable?: boolean;
}

/** Replaces `file` by `value`, like `replaceFile`. */
export const writeSealedJson = (file: string, value: object, options?: ReplaceOptions): void =>
  replaceFile(file, `${JSON.stringify({ ...value, crc32: checksum(value) }, null, 2)}\n`, options);

/**
 * Replaces `file` by `text` in one step: at any time `file` has the complete old or new text. One writer at a time.
 */
export const replaceFile = (file: string, text: string, { isDurable = true }: ReplaceOptions = {}): void => {
  const temporary = `${file}.new`;
  writeFileSync(temporary, text, { flush: isDurable });
  renameSync(temporary, file);
  if (isDurable) syncFolder(dirname(file));
};

/**
 * Reads a value that `writeSealedJson` wrote, so its shape needs no check; null without the file. Throws for any other
 * content.
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

/** Makes new and removed names in `folder` survive a loss of power. */
export const syncFolder = (folder: string): void => {
  // Windows cannot open a folder for this.
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};

const checksum = (value: object): number => crc32(JSON.stringify(value));

export const textOf = (file: string): string | null => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
};
