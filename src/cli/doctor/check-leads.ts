import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { ignoreEnoent } from '../../kit/ignore-enoent.ts';
import { openEmbeddedKeeper } from '../../leads/embedded/open-embedded-keeper.ts';
import type { LeadStats } from '../../leads/lead-keeper.ts';
import { openPlace, type PlaceConfig } from '../../leads/shared/shared-place.ts';
import { parseSharedManifest } from '../../leads/shared/shared-manifest.ts';
import { formatCount } from '../leads/figures.ts';
import { ok, problem, warning, type Check, type Finding } from './finding.ts';
import { leadPlaceOf } from './lead-place-of.ts';

const placeMs = 7_000;

/** Checks that there are real profiles to search. Other services are not asked: a call may cost money. */
export const leadsCheck = (config: Config): Check => ({
  name: 'leads',
  look: async (outer) => {
    const signal = AbortSignal.any([outer, AbortSignal.timeout(placeMs)]);
    if (!config.search.isOn)
      return [ok('The search is switched off (LEADS_SOURCES or X402_NETWORKS is none).')];
    const others = config.leads.sources.filter(({ kind }) => kind !== 'embedded').map(({ kind }) => kind);
    const place = leadPlaceOf(config);
    return [
      ...(others.length === 0 ? [] : [ok(`Not asked, as a search may cost money: ${others.join(', ')}.`)]),
      ...(place === undefined
        ? []
        : [await lookAtProfiles(config, place, { signal, isAlone: others.length === 0 })]),
    ];
  },
});

type Stored = Pick<LeadStats, 'profiles' | 'synthetic' | 'forgotten'>;

const lookAtProfiles = async (
  config: Config,
  place: PlaceConfig | null,
  { signal, isAlone }: { signal: AbortSignal; isAlone: boolean },
): Promise<Finding> => {
  let stored: Stored;
  try {
    stored = place === null ? await readFolder(config) : await readPlace(place, signal);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return signal.aborted
      ? problem('The place of the profiles (LEADS_URL) does not answer.', 'Start it, or correct LEADS_URL.')
      : problem(
          `The profiles cannot be read: ${reason}`,
          'Run this as the user of the gateway. If they are damaged, restore a backup of them, or import them again (docs/operators-profiles.md).',
        );
  }
  const { profiles, synthetic, forgotten } = stored;
  const remedy = 'Import profiles (causeway leads import), or name another source (LEADS_SOURCES).';
  if ((synthetic || profiles === 0) && isAlone && config.x402.takesRealMoney)
    return problem('There are only fictional profiles, or none, which are not sold for real money.', remedy);
  if (synthetic) return warning('Searches run over generated, fictional profiles.', remedy);
  if (profiles === 0) return warning('No profiles were imported.', remedy);
  return ok(
    `${formatCount(profiles)} real profiles; ${formatCount(forgotten)} people are forgotten, and their list is whole.`,
  );
};

const readFolder = async ({ dataDir }: Config): Promise<Stored> => {
  const folder = join(dataDir, 'leads');
  if ((await ignoreEnoent(stat(folder))) === null) return { profiles: 0, synthetic: false, forgotten: 0 };
  const keeper = await openEmbeddedKeeper({ folder });
  try {
    return await keeper.stats();
  } finally {
    await keeper.close();
  }
};

const readPlace = async (config: PlaceConfig, signal: AbortSignal): Promise<Stored> => {
  const place = await openPlace(config);
  try {
    const found = await place.readManifest({ signal });
    if (found === null) return { profiles: 0, synthetic: false, forgotten: 0 };
    const { base, delta, gone, forgotten } = parseSharedManifest(found.text, place.address);
    const rows = (base?.profiles ?? 0) + (delta?.profiles ?? 0);
    return {
      profiles: rows - (gone === null ? 0 : gone.base + gone.delta),
      synthetic: false,
      forgotten: forgotten?.people ?? 0,
    };
  } finally {
    await place.close();
  }
};
