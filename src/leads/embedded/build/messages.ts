import type { SyntheticSet } from '../index-identity.ts';

export interface BuildRequest {
  file: string;
  /** Names for the time of the build, beside `file`; no other build has them. */
  temporary: { index: string; sort: string };
  synthetic: SyntheticSet;
  /** Builds even when the file that is there looks usable. */
  force: boolean;
}

export type BuildMessage =
  | { kind: 'building'; reason: string | null }
  | { kind: 'built'; profiles: number; tookMs: number }
  | { kind: 'prepared' };
