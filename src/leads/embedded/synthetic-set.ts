import { generatorVersion } from '../synthetic/generate-leads.ts';
import { foldingVersion } from '../query/fold-text.ts';
import { segmentFormat } from './segment/segment-format.ts';

/** Determines the fictional profiles. */
export interface SyntheticSet {
  seed: number;
  profiles: number;
}

/**
 * Returns the manifest's source of this set. It covers everything that the files depend on, so a change makes them
 * outdated.
 */
export const syntheticSource = ({ seed, profiles }: SyntheticSet): string =>
  `generator ${generatorVersion}, seed ${seed}, ${profiles} profiles; ` +
  `format ${segmentFormat}, folding ${foldingVersion}`;
