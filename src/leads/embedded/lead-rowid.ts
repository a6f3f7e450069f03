/** The largest follower count an index can hold. */
const maxFollowers = 2 ** 31 - 1;
/** How many profiles may share one follower count. */
const ranks = 2 ** 21;

/**
 * The row of a profile, such that rows in ascending order are profiles in the order of results: `rank` is the
 * place, from 0, among those with as many followers, by username. At most 2^52, so exact as a number.
 */
export const leadRowid = (followers: number, rank: number): number => {
  if (!Number.isInteger(followers) || followers < 0 || followers > maxFollowers)
    throw new RangeError(`A profile's followers must be 0 to ${maxFollowers}, not ${followers}.`);
  if (rank >= ranks) throw new RangeError(`More than ${ranks} profiles have ${followers} followers.`);
  return (maxFollowers - followers) * ranks + rank;
};

/** The first and last row that a range of followers, both ends included, can have; null when it is empty. */
export const rowidRange = (range: {
  minFollowers?: number;
  maxFollowers?: number;
}): { first: number; last: number } | null => {
  const least = Math.max(0, Math.ceil(range.minFollowers ?? 0));
  const most = Math.min(maxFollowers, Math.floor(range.maxFollowers ?? maxFollowers));
  return least > most ? null : { first: leadRowid(most, 0), last: leadRowid(least, ranks - 1) };
};
