import { Command, InvalidArgumentError } from 'commander';
import { engineNames, type EngineName } from './engines/engine.ts';
import { queryClasses } from './queries/query-classes.ts';
import type { SearchPlan } from './steps/step.ts';
import { maxProfiles } from './world/syllables.ts';

export interface BenchOptions {
  profiles: number;
  engines: EngineName[];
  seed: number;
  plan: SearchPlan;
  /** For the input and the indexes, for the time of the run. */
  folder: string;
  resultsFolder: string;
  check: boolean;
  /** False: what an earlier run kept is searched. */
  load: boolean;
  keep: boolean;
  /** Whether the results stand for the whole benchmark, and are written down. */
  isComplete: boolean;
}

const usualQueries = 250;

/** Ends the process with a line that says so when an option is wrong. */
export const readOptions = (argv: readonly string[]): BenchOptions => {
  const given = command().parse(argv).opts<Given>();
  const names = queryClasses.map(({ name }) => name);
  const classes =
    given.classes === undefined
      ? names
      : names.filter((name) => given.classes?.some((wanted) => name.includes(wanted)));
  if (classes.length === 0)
    command().error(`error: no class has such a name; there are: ${names.join('; ')}`);
  return {
    profiles: given.profiles,
    engines: given.engine,
    seed: given.seed,
    plan: {
      classes,
      queriesPerClass: given.queries,
      warmPasses: given.passes,
      classBudgetMs: given.classSeconds * 1000,
      throughputMs: given.throughputSeconds * 1000,
      callers: given.callers,
    },
    folder: given.folder,
    resultsFolder: given.results,
    check: given.check,
    load: given.load,
    keep: given.keep,
    isComplete: classes.length === names.length && given.queries >= usualQueries,
  };
};

interface Given {
  profiles: number;
  engine: EngineName[];
  classes?: string[];
  seed: number;
  queries: number;
  passes: number;
  classSeconds: number;
  throughputSeconds: number;
  callers: number;
  folder: string;
  results: string;
  check: boolean;
  load: boolean;
  keep: boolean;
}

const command = (): Command =>
  new Command('bench:leads')
    .description(
      'Measures loading and searching generated profiles. bench/README.md says how to read the results.',
    )
    .option('--profiles <number>', 'how many profiles', wholeNumber(1, maxProfiles), 1_000_000)
    .option('--engine <names>', `of ${engineNames.join(', ')}`, readEngines, [...engineNames])
    .option(
      '--classes <names>',
      'parts of names of query classes, divided by semicolons; the results are only printed',
      listReader(';'),
    )
    .option('--seed <number>', 'another set of profiles and queries', wholeNumber(0, 2 ** 31), 1)
    .option(
      '--queries <number>',
      'different queries of a class, where it has so many',
      wholeNumber(1, 10_000),
      usualQueries,
    )
    .option('--passes <number>', 'how often each is repeated', wholeNumber(1, 100), 3)
    .option('--class-seconds <number>', 'the most for a class, cold or warm', wholeNumber(1, 3600), 15)
    .option(
      '--throughput-seconds <number>',
      'of many callers at once; 0: not measured',
      wholeNumber(0, 3600),
      10,
    )
    .option('--callers <number>', 'how many callers at once', wholeNumber(1, 64), 8)
    .option('--folder <path>', 'for the time of the run', './data/bench-leads')
    .option('--results <path>', 'where the results go', './bench/results')
    .option('--no-check', 'do not compare the engines with the reference first')
    .option('--no-load', 'search what a run with --keep left')
    .option('--keep', 'leave the input and the indexes for another run', false);

const wholeNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const number = Number(text.replaceAll('_', ''));
    if (!Number.isInteger(number) || number < least || number > most)
      throw new InvalidArgumentError(`It is a whole number from ${least} to ${most}.`);
    return number;
  };

const listReader =
  (divider: ',' | ';') =>
  (text: string): string[] =>
    text.split(divider).map((part) => part.trim());

const readEngines = (text: string): EngineName[] => {
  const wanted = listReader(',')(text);
  const unknown = wanted.filter((name) => !engineNames.some((known) => known === name));
  if (unknown.length > 0) throw new InvalidArgumentError(`There are ${engineNames.join(', ')}.`);
  return engineNames.filter((name) => wanted.includes(name));
};
