import { generatorVersion } from '../synthetic/generate-leads.ts';
import { foldingVersion } from '../query/fold-text.ts';
import { segmentFormat } from './segment/segment-format.ts';

/** What decides who the fictional profiles are. */
export interface SyntheticSet {
  seed: number;
  profiles: number;
}

/** A manifest's source for this set, with everything its files depend on: with another one they are built anew. */
export const syntheticSource = ({ seed, profiles }: SyntheticSet): string =>
  `generator ${generatorVersion}, seed ${seed}, ${profiles} profiles; ` +
  `format ${segmentFormat}, folding ${foldingVersion}`;
