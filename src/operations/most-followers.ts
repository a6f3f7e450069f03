/** The largest bound of followers that a search takes. */
export const mostFollowers = 1_000_000_000;
