/**
 * Returns the identity of a profile: its username without case. Rows with equal keys are the same person, and the later
 * row replaces the earlier.
 */
export const usernameKey = (username: string): string => username.normalize('NFC').toLowerCase();
