import { userInfo } from 'node:os';

/** Who this process runs as, for people; a number where the system has no name for it. */
export const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return String(process.geteuid?.() ?? 'this user');
  }
};
