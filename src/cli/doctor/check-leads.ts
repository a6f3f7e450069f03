import type { Config } from '../../config/config.ts';
import { leadsFolder } from '../../leads/open-lead-index.ts';
import { leftInFolder, readManifest } from '../../leads/sqlite/profiles-folder.ts';
import { directAddress } from '../../store/store-settings.ts';
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
      ...(kinds.includes('embedded') ? await lookAtProfiles(config, { isAlone: others.length === 0 }) : []),
    ];
  },
});

const lookAtProfiles = async (config: Config, { isAlone }: { isAlone: boolean }): Promise<Finding[]> => {
  const left = config.databaseUrl === null ? null : leftInFolder(leadsFolder(config.dataDir));
  return [
    ...(left === null ? [] : [warning(left, 'If they are not needed, move the folder away.')]),
    await lookAtCurrent(config, { isAlone }),
  ];
};

const lookAtCurrent = async (config: Config, { isAlone }: { isAlone: boolean }): Promise<Finding> => {
  let found: { isReal: boolean; profiles: number };
  try {
    found = (await findImported(config)) ?? findInFolder(config);
  } catch (error) {
    return problem(
      `The profiles cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      'Run this as the user of the gateway. If they are damaged, restore a backup of them, or import them again (docs/operators-profiles.md).',
    );
  }
  const remedy = 'Import profiles (causeway leads import), or name another source (LEADS_SOURCES).';
  const isReal = found.isReal && found.profiles > 0;
  if (!isReal && isAlone && config.x402.takesRealMoney)
    return problem('There are only fictional profiles, or none, which are not sold for real money.', remedy);
  if (found.profiles === 0) return warning('No profiles were imported.', remedy);
  if (!isReal) return warning('Searches run over generated, fictional profiles.', remedy);
  return ok(`${formatCount(found.profiles)} real profiles.`);
};

/** Returns the profiles in PostgreSQL; null if there are none. */
const findImported = async (config: Config): Promise<{ isReal: true; profiles: number } | null> => {
  const url = directAddress(config);
  if (url === null) return null;
  const { readSetOnce } = await import('../../leads/postgres/lead-set.ts');
  const set = await readSetOnce(url);
  return set === null ? null : { isReal: true, profiles: set.profiles };
};

/** With PostgreSQL only the fictional profiles of the folder are searched. */
const findInFolder = ({ dataDir, databaseUrl }: Config): { isReal: boolean; profiles: number } => {
  const manifest = readManifest(leadsFolder(dataDir));
  const isReal = manifest?.fictional === null;
  return isReal && databaseUrl !== null
    ? { isReal, profiles: 0 }
    : { isReal, profiles: manifest?.profiles ?? 0 };
};
