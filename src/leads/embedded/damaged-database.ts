/** SQLITE_ERROR (the tables are not those that are asked for), SQLITE_CORRUPT and SQLITE_NOTADB. */
const damageCodes = [1, 11, 26];

/** Whether `error` is SQLite's word for a file that is not what was written. */
export const isDamagedDatabase = (error: unknown): boolean =>
  error instanceof Error &&
  'errcode' in error &&
  typeof error.errcode === 'number' &&
  damageCodes.includes(error.errcode % 256);
