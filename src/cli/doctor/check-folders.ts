import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { open, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { ignoreEnoent } from '../../kit/files.ts';
import { userName } from '../../kit/process.ts';
import { mediaFolder } from '../../media/create-media-files.ts';
import { codeOf, describeWriteError } from '../write-new-file.ts';
import { judgeWrite, problem, warning, type Check, type Finding } from './finding.ts';

interface Folder {
  path: string;
  /** The setting that names it. */
  setting: string;
  /** Whether the embedded store is in it. */
  hasStore: boolean;
}

/** Checks that the folders are there, belong to this user, take files and have room. */
export const foldersCheck = (config: Config): Check => ({
  name: 'folders',
  look: async () => (await Promise.all(foldersOf(config).map(lookAt))).flat(),
});

const foldersOf = (config: Config): Folder[] => {
  const { dataDir, mediaDir, s3, databaseUrl } = config;
  return [
    { path: resolve(dataDir), setting: 'DATA_DIR', hasStore: databaseUrl === null },
    ...(s3 === null && mediaDir !== null
      ? [{ path: resolve(mediaFolder(config)), setting: 'MEDIA_DIR', hasStore: false }]
      : []),
  ];
};

const lookAt = async (folder: Folder): Promise<Finding[]> => {
  const { path, setting } = folder;
  let found: Stats | null;
  try {
    found = await ignoreEnoent(stat(path));
  } catch (error) {
    return [
      problem(
        `${setting}: ${path} cannot be read by ${userName()} (${codeOf(error)}).`,
        'Run this and the gateway as the same user, the owner of the folder. Is the setting right?',
      ),
    ];
  }
  if (found === null)
    return [
      warning(
        `${setting}: ${path} does not exist yet.`,
        `The first start creates it, if ${userName()} may write to ${dirname(path)}. Is the setting right?`,
      ),
    ];
  if (!found.isDirectory())
    return [problem(`${setting}: ${path} is not a folder.`, `Correct ${setting}, or move the file away.`)];
  const owner = found.uid !== process.geteuid?.() && process.geteuid !== undefined;
  const [written, ...rest] = await Promise.all([tryToWrite(folder), lookAtDisk(folder)]);
  return [
    ...(owner
      ? [
          problem(
            `${setting}: ${path} belongs to another user (${found.uid}) than the one who runs this (${userName()}).`,
            'Run this and the gateway as the same user, the owner of the folder.',
          ),
        ]
      : []),
    written,
    ...rest.flat(),
  ];
};

/** Writes a small file durably, as each paid request does to the embedded store, and removes it. */
const tryToWrite = async ({ path, setting }: Folder): Promise<Finding> => {
  const probe = join(path, `.doctor-${randomUUID()}`);
  try {
    const beganAt = performance.now();
    const file = await open(probe, 'wx', 0o600);
    try {
      await file.write(Buffer.alloc(4_096));
      await file.sync();
    } finally {
      await file.close();
    }
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

const gib = 1024 ** 3;

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

const lookAtDisk = async ({ path, setting, hasStore }: Folder): Promise<Finding[]> => {
  const { type, bsize, bavail } = await statfs(path);
  const free = bavail * bsize;
  const network = networkTypes[type];
  return [
    ...(free < gib
      ? [
          (free < gib / 10 ? problem : warning)(
            `${setting}: the disk of ${path} has ${Math.floor(free / 1024 ** 2)} MiB left.`,
            'Free some room, or move the folder to a larger disk; a full disk stops new work.',
          ),
        ]
      : []),
    ...(network !== undefined && hasStore
      ? [
          problem(
            `${setting}: ${path} is on a network file system (${network}), where the embedded store may lose data.`,
            'Use a local disk, or PostgreSQL (DATABASE_URL).',
          ),
        ]
      : []),
  ];
};
