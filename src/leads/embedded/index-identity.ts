import { generatorVersion } from '../synthetic/generate-leads.ts';

/** Raised with every change to the index's tables or to the terms under which profiles are found. */
const indexSchema = 1;

/** What an index was made from and with. A file whose identity is not the wanted one is outdated. */
export interface IndexIdentity {
  schema: number;
  /** The Unicode version whose tables folded the terms. */
  unicode: string;
  /** Whether all profiles are generated and fictional. */
  synthetic: boolean;
  /** Where the profiles come from, with everything that decides what they are. */
  source: string;
}

export interface SyntheticSet {
  seed: number;
  profiles: number;
}

export const syntheticIdentity = ({ seed, profiles }: SyntheticSet): IndexIdentity => ({
  schema: indexSchema,
  unicode: process.versions.unicode ?? 'unknown',
  synthetic: true,
  source: `generator ${generatorVersion}, seed ${seed}, ${profiles} profiles`,
});

/** Why an index with identity `found` cannot serve as `wanted`; null when it can. */
export const identityProblem = (found: IndexIdentity, wanted: IndexIdentity): string | null => {
  if (found.schema !== wanted.schema) return 'it has the format of another version';
  if (found.unicode !== wanted.unicode) return 'it was made with another version of Unicode';
  if (found.source !== wanted.source || found.synthetic !== wanted.synthetic)
    return 'it holds another set of profiles';
  return null;
};
