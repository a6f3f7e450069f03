import { generatorVersion } from '../synthetic/generate-leads.ts';
import { foldingVersion } from '../query/fold-text.ts';
import { segmentFormat } from './segment/segment-format.ts';

/** Determines the fictional profiles. */
export interface SyntheticSet {
  seed: number;
  profiles: number;
}

/** Returns the manifest's source of this set: everything that its files depend on. */
export const syntheticSource = ({ seed, profiles }: SyntheticSet): string =>
  `generator ${generatorVersion}, seed ${seed}, ${profiles} profiles; ` +
  `format ${segmentFormat}, folding ${foldingVersion}`;
