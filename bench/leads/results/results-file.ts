import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { engineNames, type EngineName } from '../engines/engine.ts';
import type { ChatFigures, LoadFigures, SearchFigures } from '../steps/step.ts';

/** Raised with every change that makes files of before unreadable. */
export const resultsFormat = 2;

/** What `leads-<profiles>.json` holds. */
export interface Results {
  format: typeof resultsFormat;
  profiles: number;
  seed: number;
  generatorVersion: number;
  engines: Partial<Record<EngineName, EngineResults>>;
}

export interface EngineResults {
  /** ISO 8601, of the end. */
  measuredAt: string;
  load: LoadFigures | null;
  searches: SearchFigures[];
  chats: ChatFigures | null;
}

const fileOf = (folder: string, profiles: number): string => join(folder, `leads-${profiles}.json`);

/** The results of an earlier run with as many profiles; null when there are none, or none of this format. */
export const readResults = async (folder: string, profiles: number): Promise<Results | null> => {
  try {
    const found: Partial<Results> = JSON.parse(await readFile(fileOf(folder, profiles), 'utf8'));
    return found.format === resultsFormat ? (found as Results) : null;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
};

/** The results of all runs in `folder`, those of fewest profiles first. */
export const readAllResults = async (folder: string): Promise<Results[]> => {
  const sizes = (await readdir(folder)).flatMap((name) => {
    const match = /^leads-(\d+)\.json$/.exec(name);
    return match?.[1] === undefined ? [] : [Number(match[1])];
  });
  const all = await Promise.all(sizes.sort((a, b) => a - b).map((size) => readResults(folder, size)));
  return all.filter((results) => results !== null);
};

export const writeResults = async (folder: string, results: Results): Promise<void> => {
  await mkdir(folder, { recursive: true });
  const text = JSON.stringify(results, null, 1);
  await writeFile(fileOf(folder, results.profiles), `${text}\n`);
};

/**
 * `measured` in place of what `earlier` has of the same engines; what it has of others stays. Figures of other profiles
 * are dropped, and a load that was left out keeps the figures it had.
 */
export const mergeResults = (earlier: Results | null, measured: Results): Results => {
  const isSame = earlier?.seed === measured.seed && earlier.generatorVersion === measured.generatorVersion;
  const kept = isSame ? earlier.engines : {};
  const engines: Results['engines'] = {};
  for (const name of engineNames) {
    const fresh = measured.engines[name];
    const old = kept[name];
    const merged = fresh === undefined ? old : { ...fresh, load: fresh.load ?? old?.load ?? null };
    if (merged !== undefined) engines[name] = merged;
  }
  return { ...measured, engines };
};
