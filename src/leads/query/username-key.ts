/**
 * What tells one profile from another: its username without case. Two rows with equal keys are the same person's, the
 * later one replaces the earlier.
 */
export const usernameKey = (username: string): string => username.normalize('NFC').toLowerCase();
