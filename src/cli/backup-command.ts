import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, realpath, rename, stat, utimes } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { ignoreEnoent, syncToDisk } from '../kit/files.ts';
import { leadsFolder } from '../leads/open-lead-index.ts';
import { lockProfiles } from '../leads/sqlite/profiles-folder.ts';
import { copyProfiles } from '../leads/sqlite/profiles-file.ts';
import { LeadIndexError } from '../leads/lead-index.ts';
import { mediaFolder } from '../media/create-media-files.ts';
import { markName } from '../media/disk-media.ts';
import { embeddedStoreFile } from '../store/open-store.ts';
import type { Answer } from './command.ts';
import { CommandError } from './command-error.ts';
import { toCommand } from './form-command.ts';
import { assertDataExists } from './place.ts';
import { describeWriteError, fileExists, withPart } from './write-new-file.ts';

export const backupCommand = toCommand({
  usage: 'backup <folder>',
  title: 'Copy the embedded store, the media, the profiles and the generated wallets',
  description:
    'Copies the data of the gateway into a new folder, also while it runs: the embedded store as it is at one moment, ' +
    'then the media on disk, the imported profiles and the generated wallets. The copy is a data folder itself. The ' +
    'settings (causeway.yaml and the environment) are read for the folder of the media; they are not copied.',
  fields: { folder: z.string().describe('A new folder; it appears whole or not at all.') },
  example: { folder: '/backup/causeway-monday' },
  examples: ['causeway --data-dir /backup/causeway-monday ledger check'],
  run: async ({ config }, { folder }) => backUp(await config(), resolve(folder)),
});

const backUp = async (config: Config, folder: string): Promise<Answer> => {
  assertDataExists(config);
  if (config.databaseUrl !== null)
    throw new CommandError(
      'invalid_setting',
      'DATABASE_URL: it is set, so the data is in PostgreSQL; back it up with pg_dump (docs/operators.md)',
    );
  if (existsSync(folder)) throw fileExists(folder);
  for (const source of [mediaFolder(config), leadsFolder(config.dataDir)])
    if (await isInside(dirname(folder), source))
      throw new CommandError(
        'invalid_usage',
        `${folder} is inside ${source}, which is copied; name a folder outside of it.`,
      );
  try {
    return await withPart(folder, async (part) => {
      await mkdir(part, { mode: 0o700 });
      const answer = await copyData(config, part);
      await rename(part, folder);
      await syncToDisk(dirname(folder));
      return { ...answer, json: { folder, ...answer.json }, text: `${folder} has ${answer.text}.` };
    });
  } catch (error) {
    if (error instanceof CommandError || error instanceof LeadIndexError) throw error;
    const problem = error instanceof Error && 'errcode' in error ? error.message : describeWriteError(error);
    throw new CommandError('file_failed', `${folder} cannot be written: ${problem}.`, { cause: error });
  }
};

/** Tells whether `folder` is `outer` or below it. Resolves links. */
const isInside = async (folder: string, outer: string): Promise<boolean> => {
  const [inner, root] = await Promise.all([folder, outer].map((path) => ignoreEnoent(realpath(path))));
  if (typeof inner !== 'string' || typeof root !== 'string') return false;
  const [first] = relative(root, inner).split(sep);
  return first !== '..' && !isAbsolute(relative(root, inner));
};

/** Copies the store before the media, so that all media of the copied rows exist. Nothing would remove others. */
const copyData = async (config: Config, part: string): Promise<Answer> => {
  const { dataDir, s3 } = config;
  const leads = leadsFolder(dataDir);
  const lock = existsSync(leads) ? lockProfiles(leads) : null;
  try {
    // Copied before the store, so that the store's list has everybody who was forgotten since.
    const profiles = await copyFolder({ from: leads, to: join(part, 'leads') }, isFinished);
    const store = embeddedStoreFile(part);
    const { copyDatabase } = await import('../store/sqlite/database.ts');
    copyDatabase(embeddedStoreFile(dataDir), store);
    await syncToDisk(store);
    const { size } = await stat(store);
    const media =
      s3 === null
        ? await copyFolder({ from: mediaFolder(config), to: join(part, 'media') }, await ofMedia(store))
        : null;
    // The mark of the folder's first use is copied, but it is not a medium.
    if (media !== null && existsSync(join(part, 'media', markName))) media.files -= 1;
    const name = 'wallets.json';
    const wallets = await copyOneFile({ from: join(dataDir, name), to: join(part, name) });
    await syncToDisk(part);
    return {
      json: {
        store_bytes: size,
        media: media && { ...media },
        leads: profiles && { ...profiles },
        wallets: wallets !== null,
      },
      text: [
        `the store (${size} bytes)`,
        `${media?.files ?? 0} files of media (${media?.bytes ?? 0} bytes)`,
        `${profiles?.files ?? 0} files of profiles (${profiles?.bytes ?? 0} bytes)`,
        wallets === null ? 'no generated wallets' : 'the generated wallets, whose keys are in the copy',
      ].join(', '),
      remark: s3 === null ? undefined : 'The media are in a bucket and are not copied.',
    };
  } finally {
    lock?.close();
  }
};

/** Leaves out unfinished files, and files that are no media of the copied store. Their folders have two letters. */
const ofMedia = async (store: string): Promise<(name: string) => boolean> => {
  const { DatabaseSync } = await import('node:sqlite');
  using database = new DatabaseSync(store, { readOnly: true });
  const rows = database.prepare('select id from media where removed_at is null').all();
  const ids = new Set(rows.map(({ id }) => id));
  return (name) => name.length === 2 || name === markName || ids.has(name);
};

/** Leaves out the lock of the profiles and unfinished files. */
const isFinished = (name: string): boolean => !/^(?:keeper\.lock|next-|building-)/.test(name);

interface Copied {
  files: number;
  bytes: number;
}

/**
 * Copies what `isMeant` of `from` to the new folder `to` with the times of its files, and waits until the disk has them.
 * It leaves out files that go meanwhile. Resolves with null if there is no `from`.
 */
const copyFolder = async (
  { from, to }: { from: string; to: string },
  isMeant: (name: string) => boolean,
): Promise<Copied | null> => {
  const entries = await ignoreEnoent(readdir(from, { withFileTypes: true }));
  if (entries === null) return null;
  await mkdir(to);
  const copied: Copied = { files: 0, bytes: 0 };
  for (const entry of entries.filter(({ name }) => isMeant(name))) {
    const paths = { from: join(from, entry.name), to: join(to, entry.name) };
    const part = entry.isDirectory() ? await copyFolder(paths, isMeant) : await copyOneFile(paths);
    copied.files += part?.files ?? 0;
    copied.bytes += part?.bytes ?? 0;
  }
  await syncToDisk(to);
  return copied;
};

const copyOneFile = async ({ from, to }: { from: string; to: string }): Promise<Copied | null> => {
  const copy = basename(from).startsWith('profiles-') && from.endsWith('.db') ? copyProfiles : copyFile;
  const found = await ignoreEnoent(copy(from, to).then(() => stat(from)));
  if (found === null) return null;
  await utimes(to, found.atime, found.mtime);
  await syncToDisk(to);
  return { files: 1, bytes: found.size };
};
