/** SQLITE_ERROR (unexpected tables), SQLITE_CORRUPT and SQLITE_NOTADB. */
const damageCodes = [1, 11, 26];

/** Returns true if SQLite's `error` means that the file is not as it was written. */
export const isDamagedDatabase = (error: unknown): boolean =>
  error instanceof Error &&
  'errcode' in error &&
  typeof error.errcode === 'number' &&
  damageCodes.includes(error.errcode % 256);
