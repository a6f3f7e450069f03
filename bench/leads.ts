import { mkdir, readdir, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readOptions, type BenchOptions } from './leads/options.ts';
import { accessesOf, type BenchPlace, type EngineName } from './leads/engines/engine.ts';
import { writeProfiles } from './leads/files/write-profiles.ts';
import { createProfiles, firstProfiles, generatorVersion } from './leads/generate-profiles.ts';
import { report } from './leads/results/report.ts';
import {
  mergeResults,
  readAllResults,
  readResults,
  resultsFormat,
  writeResults,
  type EngineResults,
  type Results,
} from './leads/results/results-file.ts';
import { runStep } from './leads/steps/run-step.ts';

const checkedProfiles = 20_000;
const checkedQueriesPerClass = 5;

const say = (text: string): void => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)}  ${text}\n`);
};

interface Run {
  options: BenchOptions;
  signal: AbortSignal;
}

const placeOf = ({ options }: Run, profileCount: number): BenchPlace => {
  const folder = join(options.folder, String(profileCount));
  const csvFile = join(folder, `profiles-${generatorVersion}-${options.seed}.csv`);
  return { folder, csvFile, profileCount, seed: options.seed };
};

/** The CSV file of a size; one that is there already is whole. */
const writeInput = async ({ csvFile, folder, profileCount, seed }: BenchPlace): Promise<void> => {
  await mkdir(folder, { recursive: true });
  if (await exists(csvFile)) return;
  say(`writing ${profileCount} profiles`);
  await writeProfiles(firstProfiles(createProfiles(seed), profileCount), { file: csvFile, format: 'csv' });
};

const exists = async (file: string): Promise<boolean> => {
  try {
    await stat(file);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
};

/** Holds every engine against the plain scan, on few profiles; throws when one answers otherwise. */
const check = async (run: Run): Promise<void> => {
  const folder = join(run.options.folder, 'check');
  const place = { ...placeOf(run, checkedProfiles), folder, csvFile: join(folder, 'profiles.csv') };
  await rm(place.folder, { recursive: true, force: true });
  await writeInput(place);
  try {
    for (const engine of run.options.engines) await checkEngine(engine, place, run);
  } finally {
    await removeAll(place, run);
  }
};

const checkEngine = async (engine: EngineName, place: BenchPlace, run: Run): Promise<void> => {
  const step = { kind: 'check', engine, place, queriesPerClass: checkedQueriesPerClass } as const;
  const { compared, different } = await runStep(step, run);
  if (different.length > 0)
    throw new Error(`"${engine}" answers otherwise than the reference:\n${different.join('\n')}`);
  say(`${engine}: ${compared} queries answered as the reference answers them`);
};

const measureEngine = async (engine: EngineName, place: BenchPlace, run: Run): Promise<EngineResults> => {
  const { load: loads, plan } = run.options;
  const results: EngineResults = { measuredAt: '', load: null, searches: [], chats: null };
  if (loads) {
    say(`${engine}: loading`);
    results.load = await runStep({ kind: 'load', engine, place }, run);
    say(`${engine}: ${results.load.rowsPerSecond} rows/s, ${results.load.cpuSeconds} s of CPU`);
  }
  for (const access of accessesOf[engine]) {
    say(`${engine}: searching (${access})`);
    results.searches.push(await runStep({ kind: 'search', engine, access, place, plan }, run));
  }
  if (plan.throughputMs > 0) {
    say(`${engine}: chats beside searches`);
    results.chats = await runStep({ kind: 'chats', engine, place, plan }, run);
  }
  return { ...results, measuredAt: new Date().toISOString() };
};

const measure = async (run: Run): Promise<Results> => {
  const { options } = run;
  const place = placeOf(run, options.profiles);
  const results: Results = {
    format: resultsFormat,
    profiles: options.profiles,
    seed: options.seed,
    generatorVersion,
    engines: {},
  };
  await writeInput(place);
  try {
    for (const engine of options.engines) {
      results.engines[engine] = await measureEngine(engine, place, run);
      if (options.isComplete) await store(results, options);
    }
  } finally {
    if (!options.keep) await removeAll(place, run);
  }
  return results;
};

/** After each engine, so that a run that is ended keeps what it measured. */
const store = async (results: Results, { resultsFolder }: BenchOptions): Promise<void> => {
  const earlier = await readResults(resultsFolder, results.profiles);
  await writeResults(resultsFolder, mergeResults(earlier, results));
  await writeFile(join(resultsFolder, 'leads.md'), report(await readAllResults(resultsFolder)));
};

const removeAll = async (place: BenchPlace, { options }: Run): Promise<void> => {
  for (const engine of options.engines) {
    try {
      await runStep({ kind: 'remove', engine, place }, { signal: new AbortController().signal });
    } catch (error) {
      say(
        `${engine}: what was loaded is not removed: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
  await rm(place.folder, { recursive: true, force: true });
  // What an earlier run has kept stays.
  if ((await readdir(options.folder)).length === 0) await rmdir(options.folder);
};

const main = async (): Promise<void> => {
  const options = readOptions(process.argv);
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => stopping.abort(new Error(`ended by ${name}`)));
  const run: Run = { options, signal: stopping.signal };
  if (options.check) await check(run);
  const results = await measure(run);
  process.stdout.write(report([results]));
};

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
