import type { Config } from '../../config/config.ts';
import { leadsFolder } from '../../leads/keeping/open-lead-keeper.ts';
import { readManifest } from '../../leads/sqlite/profiles-folder.ts';
import { formatCount } from '../leads/figures.ts';
import { ok, problem, warning, type Check, type Finding } from './finding.ts';

/** Checks that there are real profiles to search. Other services are not asked: a call may cost money. */
export const leadsCheck = (config: Config): Check => ({
  name: 'leads',
  look: async () => {
    if (!config.search.isOn)
      return [ok('The search is switched off (LEADS_SOURCES or X402_NETWORKS is none).')];
    const kinds = config.leads.sources.map(({ kind }) => kind);
    const others = kinds.filter((kind) => kind !== 'embedded');
    return [
      ...(others.length === 0 ? [] : [ok(`Not asked, as a search may cost money: ${others.join(', ')}.`)]),
      ...(kinds.includes('embedded') ? [lookAtProfiles(config, { isAlone: others.length === 0 })] : []),
    ];
  },
});

const lookAtProfiles = (config: Config, { isAlone }: { isAlone: boolean }): Finding => {
  const folder = leadsFolder(config.dataDir);
  let manifest: ReturnType<typeof readManifest>;
  try {
    manifest = readManifest(folder);
  } catch (error) {
    return problem(
      `The profiles cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      'Run this as the user of the gateway. If they are damaged, restore a backup of them, or import them again (docs/operators-profiles.md).',
    );
  }
  const remedy = 'Import profiles (causeway leads import), or name another source (LEADS_SOURCES).';
  const isReal = manifest?.fictional === null && manifest.profiles > 0;
  if (!isReal && isAlone && config.x402.takesRealMoney)
    return problem('There are only fictional profiles, or none, which are not sold for real money.', remedy);
  if (manifest === null || manifest.profiles === 0) return warning('No profiles were imported.', remedy);
  if (!isReal) return warning('Searches run over generated, fictional profiles.', remedy);
  return ok(`${formatCount(manifest.profiles)} real profiles.`);
};
