import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import type { Config } from '../src/config/config.ts';
import { silentLog } from '../src/kit/log.ts';
import { buildFictional } from '../src/leads/sqlite/build-fictional.ts';
import { embeddedStoreFile } from '../src/store/open-store.ts';
import { openSqliteStore } from '../src/store/sqlite/open-sqlite-store.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A data folder with an empty store of the newest schema and the fictional profiles. */
    dataTemplate: string;
  }
}

/** How many fictional profiles the template has. A gateway with another number makes its own. */
export const templateProfiles = 500;

/**
 * Runs once before all tests (`globalSetup`). Tests start from copies of this folder, because migrating a store and
 * making profiles takes longer than most tests.
 */
export const setup = async (project: TestProject): Promise<() => void> => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-template-'));
  const leads = join(folder, 'leads');
  mkdirSync(leads);
  await buildFictional(leads, {
    // As the embedded source asks for them.
    set: { seed: 1, profiles: templateProfiles },
    log: silentLog,
    signal: new AbortController().signal,
  });
  const store = await openSqliteStore({ file: embeddedStoreFile(folder) });
  await store.close();
  project.provide('dataTemplate', folder);
  return () => rmSync(folder, { recursive: true });
};

/** Lays an empty store of the newest schema at `file`, unless there is one. Returns `file`. */
export const layStore = (file: string): string => {
  mkdirSync(dirname(file), { recursive: true });
  if (!existsSync(file)) copyFileSync(embeddedStoreFile(inject('dataTemplate')), file);
  return file;
};

/** Lays an empty store and the fictional profiles, where a folder has none. */
export const layDataFolder = (dataDir: string): void => {
  layStore(embeddedStoreFile(dataDir));
  layProfiles(dataDir);
};

const layProfiles = (dataDir: string): void => {
  const folder = join(dataDir, 'leads');
  if (!existsSync(folder)) cpSync(join(inject('dataTemplate'), 'leads'), folder, { recursive: true });
};

/** Lays what a gateway of these settings would make at its first start. */
export const layDataOf = ({ dataDir, databaseUrl, leads, search }: Config): void => {
  if (databaseUrl === null) layStore(embeddedStoreFile(dataDir));
  const isEmbedded = leads.sources.some(({ kind }) => kind === 'embedded');
  if (isEmbedded && search.syntheticProfiles === templateProfiles) layProfiles(dataDir);
};
