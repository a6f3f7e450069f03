import type { SyntheticSet } from '../synthetic-set.ts';

export interface BuildRequest {
  /** Where the index goes. */
  folder: string;
  /** A folder in it for the time of the build, which no other build has; exists for `invent` alone. */
  scratch: string;
  job: BuildJob;
}

/** To make fictional profiles, or to write the real ones anew, folded by this version of Unicode. */
export type BuildJob = { kind: 'invent'; synthetic: SyntheticSet } | { kind: 'refold' };

export type BuildMessage =
  | { kind: 'built'; profiles: number; tookMs: number }
  /** Somebody else's profiles are there by now, or folded already: nothing was changed. */
  | { kind: 'unneeded' };
