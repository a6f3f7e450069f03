/** Where the keeping of profiles trades one cost for another. */
export interface KeeperLimits {
  /** Up to so many profiles, or a tenth of the base, are kept beside the base; more are a reason to write it anew. */
  deltaProfiles: number;
  /** A checkpoint of an import's reading at the latest after so much. */
  checkpointBytes: number;
  /** The memory in which the rows of one part of an import are sorted. */
  arenaBytes: number;
}

export const defaultKeeperLimits: KeeperLimits = {
  deltaProfiles: 100_000,
  checkpointBytes: 50 * 1024 * 1024,
  arenaBytes: 32 * 1024 * 1024,
};
