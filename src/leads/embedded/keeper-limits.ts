/** Limits that trade one cost of changing profiles for another. */
export interface KeeperLimits {
  /** A delta has at most this many profiles, or a tenth of the base. Beyond that, a new base is written. */
  deltaProfiles: number;
  /** The memory for sorting the rows of one partition. */
  arenaBytes: number;
}

export const defaultKeeperLimits: KeeperLimits = {
  deltaProfiles: 100_000,
  arenaBytes: 32 * 1024 * 1024,
};
