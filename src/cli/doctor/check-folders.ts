import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { readDisk } from '../../kit/disk.ts';
import { ignoreEnoent } from '../../kit/files.ts';
import { userName } from '../../kit/process.ts';
import { leadsFolder } from '../../leads/open-lead-index.ts';
import { leftInFolder, readManifest } from '../../leads/sqlite/profiles-folder.ts';
import { dataFolders, type DataFolder } from '../../media/create-media-files.ts';
import { directAddress } from '../../store/store-settings.ts';
import { formatCount } from '../leads/figures.ts';
import { codeOf, describeWriteError } from '../write-new-file.ts';
import { judgeWrite, ok, problem, warning, type Check, type Findings } from './finding.ts';

interface Folder extends DataFolder {
  hasStore: boolean;
}

/** Checks that the folders are there, belong to this user, take files and have room. */
export const checkFolders: Check = async (config) => {
  const hasStore = ({ setting }: DataFolder): boolean =>
    setting === 'DATA_DIR' && config.databaseUrl === null;
  return Promise.all(
    dataFolders(config).map((folder) => lookAtFolder({ ...folder, hasStore: hasStore(folder) })),
  );
};

const lookAtFolder = async (folder: Folder): Promise<Findings> => {
  const { path, setting } = folder;
  let found: Stats | null;
  try {
    found = await ignoreEnoent(stat(path));
  } catch (error) {
    return problem(
      `${setting}: ${path} cannot be read by ${userName()} (${codeOf(error)}).`,
      'Run this and the gateway as the same user, the owner of the folder. Is the setting right?',
    );
  }
  if (found === null)
    return warning(
      `${setting}: ${path} does not exist yet.`,
      `The first start creates it, if ${userName()} may write to ${dirname(path)}. Is the setting right?`,
    );
  if (!found.isDirectory())
    return problem(`${setting}: ${path} is not a folder.`, `Correct ${setting}, or move the file away.`);
  return [
    found.uid !== process.geteuid?.() &&
      process.geteuid !== undefined &&
      problem(
        `${setting}: ${path} belongs to another user (${found.uid}) than the one who runs this (${userName()}).`,
        'Run this and the gateway as the same user, the owner of the folder.',
      ),
    ...(await Promise.all([tryToWrite(folder), lookAtDisk(folder)])),
  ];
};

/** Writes a small file durably, as each paid request does to the embedded store, and removes it. */
const tryToWrite = async ({ path, setting }: Folder): Promise<Findings> => {
  const probe = join(path, `.doctor-${randomUUID()}`);
  try {
    const beganAt = performance.now();
    await writeFile(probe, Buffer.alloc(4_096), { flag: 'wx', mode: 0o600, flush: true });
    return judgeWrite(
      `${setting}: a durable write to ${path}`,
      performance.now() - beganAt,
      'Use a faster disk (SSD).',
    );
  } catch (error) {
    return problem(
      `${setting}: ${path} takes no files: ${describeWriteError(error)}.`,
      `Let the user ${userName()} write to it, on a file system that is mounted for writing.`,
    );
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
};

const fullBytes = 100 * 1024 ** 2;

/** The numbers of file systems on other machines (statfs(2)); FUSE may be one. */
const networkTypes: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xff534d42: 'CIFS',
  0xfe534d42: 'SMB',
  0x01021997: '9P',
  0x00c36400: 'Ceph',
  0x5346414f: 'AFS',
  0x65735546: 'FUSE',
};

const lookAtDisk = async ({ path, setting, hasStore }: Folder): Promise<Findings> => {
  const { free, isLow, type } = await readDisk(path);
  const network = networkTypes[type];
  return [
    isLow &&
      (free < fullBytes ? problem : warning)(
        `${setting}: the disk of ${path} has ${Math.floor(free / 1024 ** 2)} MiB left.`,
        'Free some room, or move the folder to a larger disk; a full disk stops new work.',
      ),
    network !== undefined &&
      hasStore &&
      problem(
        `${setting}: ${path} is on a network file system (${network}), where the embedded store may lose data.`,
        'Use a local disk, or PostgreSQL (DATABASE_URL).',
      ),
  ];
};

/** Checks that there are real profiles to search. Other services are not asked: a call may cost money. */
export const checkProfiles: Check = async (config) => {
  const { search, leads, databaseUrl, dataDir } = config;
  if (!search.isOn) return ok('The search is switched off (LEADS_SOURCES or X402_NETWORKS is none).');
  const kinds = leads.sources.map(({ kind }) => kind);
  const others = kinds.filter((kind) => kind !== 'embedded');
  const asked = others.length > 0 && ok(`Not asked, as a search may cost money: ${others.join(', ')}.`);
  if (!kinds.includes('embedded')) return asked;
  const left = databaseUrl === null ? null : leftInFolder(leadsFolder(dataDir));
  return [
    asked,
    left !== null && warning(left, 'If they are not needed, move the folder away.'),
    await lookAtProfiles(config, { isAlone: others.length === 0 }),
  ];
};

const lookAtProfiles = async (config: Config, { isAlone }: { isAlone: boolean }): Promise<Findings> => {
  let found: Awaited<ReturnType<typeof countProfiles>>;
  try {
    found = await countProfiles(config);
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

/** Counts the profiles in PostgreSQL, or else those of the folder. With PostgreSQL only its fictional ones are searched. */
const countProfiles = async (config: Config): Promise<{ isReal: boolean; profiles: number }> => {
  const url = directAddress(config);
  if (url !== null) {
    const { readSetOnce } = await import('../../leads/postgres/lead-set.ts');
    const set = await readSetOnce(url);
    if (set !== null) return { isReal: true, profiles: set.profiles };
  }
  const manifest = readManifest(leadsFolder(config.dataDir));
  const isReal = manifest?.fictional === null;
  return { isReal, profiles: isReal && url !== null ? 0 : (manifest?.profiles ?? 0) };
};
