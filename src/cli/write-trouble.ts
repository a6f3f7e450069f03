const words: Record<string, string> = {
  ENOENT: 'its folder does not exist; make it first',
  ENOTDIR: 'its folder does not exist; make it first',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'nothing can be written to that disk',
  EISDIR: 'it is a folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'this user may not fill more of the disk',
};

export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'no reason';

/** Why a file cannot be written, for whoever named it: what a failed system call means, or else its code. */
export const writeTrouble = (error: unknown): string => words[codeOf(error)] ?? codeOf(error);

/** Whether a link could not be made because the file system has none. */
export const lacksLinks = (error: unknown): boolean =>
  ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK'].includes(codeOf(error));
