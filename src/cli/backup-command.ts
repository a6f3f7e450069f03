import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { nullWhenAbsent } from '../kit/null-when-absent.ts';
import { lockKeeper } from '../leads/embedded/keeper-lock.ts';
import { LeadKeeperError } from '../leads/lead-keeper.ts';
import { mediaFolder } from '../media/create-media-files.ts';
import { embeddedStoreFile } from '../store/open-store.ts';
import { syncToDisk } from '../kit/sync-to-disk.ts';
import type { Answer, CommandContext } from './command-context.ts';
import { CommandError } from './command-error.ts';
import { copyFolder, copyOneFile } from './copy-folder.ts';
import { addExamples } from './examples.ts';
import { fileExists } from './write-new-file.ts';
import { writeTrouble } from './write-trouble.ts';

/** Adds `backup`. */
export const addBackupCommand = (program: Command, context: CommandContext): void => {
  const backup = program
    .command('backup')
    .summary('copy the embedded store, the media, the profiles and the generated wallets')
    .description(
      'Copies the data of the gateway into a new folder, also while it runs: the embedded store as it is at one moment, ' +
        'then the media on disk, the imported profiles and the generated wallets. The copy is a data folder itself. The ' +
        'settings of the gateway (causeway.yaml and its environment) are read, for the place of the media; they are not copied.',
    )
    .argument('<folder>', 'a new folder; it is there whole or not at all')
    .action((folder: string) => context.runOnConfig((config) => backUp(config, resolve(folder))));
  addExamples(backup, [
    'causeway backup /backup/causeway-monday',
    'causeway --data-dir /backup/causeway-monday ledger check',
  ]);
};

const backUp = async (config: Config, folder: string): Promise<Answer> => {
  if (config.databaseUrl !== null)
    throw new CommandError(
      'invalid_setting',
      'DATABASE_URL: it is set, so the data is in PostgreSQL; back it up with pg_dump (docs/operators.md)',
    );
  if (existsSync(folder)) throw fileExists(folder);
  for (const source of [mediaFolder(config), leadsFolder(config)])
    if (await isInside(dirname(folder), source))
      throw new CommandError(
        'invalid_usage',
        `${folder} is inside ${source}, which is copied; name a folder outside of it.`,
      );
  const part = join(dirname(folder), `.${basename(folder)}.${randomUUID()}.part`);
  try {
    await mkdir(part, { mode: 0o700 });
    const answer = await copyData(config, part);
    await rename(part, folder);
    await syncToDisk(dirname(folder));
    return { ...answer, json: { folder, ...answer.json }, text: `${folder} has ${answer.text}.` };
  } catch (error) {
    await rm(part, { recursive: true, force: true });
    if (error instanceof CommandError || error instanceof LeadKeeperError) throw error;
    const trouble = error instanceof Error && 'errcode' in error ? error.message : writeTrouble(error);
    throw new CommandError('file_failed', `${folder} cannot be written: ${trouble}.`, { cause: error });
  }
};

const leadsFolder = ({ dataDir }: Config): string => join(dataDir, 'leads');

/** Whether `folder` is `outer` or below it, by the folders that the names lead to. */
const isInside = async (folder: string, outer: string): Promise<boolean> => {
  const [inner, root] = await Promise.all([folder, outer].map((path) => nullWhenAbsent(realpath(path))));
  if (typeof inner !== 'string' || typeof root !== 'string') return false;
  const [first] = relative(root, inner).split(sep);
  return first !== '..' && !isAbsolute(relative(root, inner));
};

/** The store comes before the media: what it names was written before, and bytes that it does not name do no harm. */
const copyData = async (config: Config, part: string): Promise<Answer> => {
  const { dataDir, s3 } = config;
  const leads = leadsFolder(config);
  const lock = existsSync(leads) ? lockKeeper(leads) : null;
  try {
    const store = embeddedStoreFile(part);
    const { copyDatabase } = await import('../store/sqlite/copy-database.ts');
    copyDatabase(embeddedStoreFile(dataDir), store);
    await syncToDisk(store);
    const { size } = await stat(store);
    const media =
      s3 === null
        ? await copyFolder({ from: mediaFolder(config), to: join(part, 'media') }, (name) => name !== 'tmp')
        : null;
    const profiles = await copyFolder({ from: leads, to: join(part, 'leads') }, isKept);
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
      ...(s3 === null ? {} : { remark: 'The media are in a bucket and are not copied.' }),
    };
  } finally {
    lock?.release();
  }
};

/** Neither the lock of the profiles nor what is being made at the moment. */
const isKept = (name: string): boolean => !/^(?:keeper\.lock|staging$|building-|refolding-)/.test(name);
