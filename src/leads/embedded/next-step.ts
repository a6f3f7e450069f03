import { hasRealSegments } from './lead-folder.ts';
import { ManifestUnreadableError, readManifest, type Manifest } from './manifest.ts';
import { syntheticSource, type SyntheticSet } from './synthetic-set.ts';

export type NextStep =
  | { kind: 'serve' }
  /** Builds the fictional profiles. `reason` is the fault of the existing ones, or null if there are none. */
  | { kind: 'build'; reason: string | null }
  /**
   * Nothing can be served until somebody changes the folder. `isEmpty`: nobody was imported yet. `reason` is for the
   * operator.
   */
  | { kind: 'wait'; isFault: boolean; isEmpty?: true; reason: string };

export interface NextStepInput {
  folder: string;
  /** The fictional profiles to serve if there are no real ones. With 0 of them none are served. */
  synthetic: SyntheticSet;
  isDamaged: boolean;
  /** True if this process has seen real profiles here. */
  hadReal: boolean;
}

/** Decides what to do with the profiles in a folder. Real ones are always served or waited for. */
export const nextStep = ({ folder, synthetic, isDamaged, hadReal }: NextStepInput): NextStep => {
  let manifest: Manifest | null;
  try {
    manifest = readManifest(folder);
  } catch (error) {
    if (!(error instanceof ManifestUnreadableError)) throw error;
    return { kind: 'wait', isFault: true, reason: `${error.message}; ${remedy}` };
  }
  if (manifest?.synthetic === false)
    return isDamaged
      ? { kind: 'wait', isFault: true, reason: `the imported profiles are damaged; ${remedy}` }
      : { kind: 'serve' };
  if (manifest === null && hasRealSegments(folder)) return { kind: 'wait', isFault: false, reason: unnamed };
  if (hadReal) return { kind: 'wait', isFault: true, reason: missing };
  if (synthetic.profiles === 0) return { kind: 'wait', isFault: false, isEmpty: true, reason: notImported };
  if (manifest === null) return { kind: 'build', reason: null };
  if (isDamaged) return { kind: 'build', reason: 'it is damaged' };
  return manifest.source === syntheticSource(synthetic)
    ? { kind: 'serve' }
    : { kind: 'build', reason: 'it has another set of profiles, or another version made it' };
};

const remedy = 'restore a backup of the folder, or import all profiles again with `leads import --replace`';
const notImported =
  'no profiles were imported, so every search finds nobody; import some with `leads import`';
const unnamed =
  'there are imported profiles, but no current.json, which names their files; ' +
  'waiting until a backup is completely restored, or an import ends';
const missing =
  'the imported profiles are gone; waiting until they are restored, or others are imported; ' +
  'fictional ones do not replace them before a restart';
