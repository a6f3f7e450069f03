import type { SyntheticSet } from '../synthetic-set.ts';

export interface BuildRequest {
  /** The folder for the index. */
  folder: string;
  /** A temporary folder in it that belongs to this build alone; it already exists only for `invent`. */
  scratch: string;
  job: BuildJob;
}

/** Makes fictional profiles, or rewrites the real ones, folded by this version of Unicode. */
export type BuildJob = { kind: 'invent'; synthetic: SyntheticSet } | { kind: 'refold' };

export type BuildMessage =
  | { kind: 'built'; profiles: number; tookMs: number }
  /** Nothing was changed, because other profiles are there, or these are already folded. */
  | { kind: 'unneeded' };
