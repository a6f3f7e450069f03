/** Returns the outcome of a read, or null if there is no such file or folder (ENOENT). */
export const nullWhenAbsent = async <T>(reading: Promise<T>): Promise<T | null> => {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
};
