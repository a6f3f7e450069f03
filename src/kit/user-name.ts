import { userInfo } from 'node:os';

/** Returns the name of the process's user, or its number if the system has no name for it. */
export const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return String(process.geteuid?.() ?? 'this user');
  }
};
