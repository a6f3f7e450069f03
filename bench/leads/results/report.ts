import { engineNames, type Access, type EngineName } from '../engines/engine.ts';
import type { Machine } from '../measure/machine.ts';
import type { ClassFigures } from '../measure/measure-classes.ts';
import { spreadOf, type Spread } from '../measure/statistics.ts';
import type { SearchFigures } from '../steps/step.ts';
import { amount, late, spread } from './format.ts';
import { freeRate, goalProfiles, goals, missesOf, shareOfCore } from './goals.ts';
import type { EngineResults, Results } from './results-file.ts';
import { table } from './table.ts';

/** All results as one page of Markdown. */
export const report = (all: readonly Results[]): string =>
  [
    '# Lead search: measured',
    'Written by `npm run bench:leads`; the README in `bench/` says what each figure means and how far to trust it.',
    ...all.map(reportSize),
    '',
  ].join('\n\n');

/** One way of searching, as a column of the tables. */
interface Way {
  engine: EngineName;
  access: Access;
  label: string;
  figures: SearchFigures;
}

const reportSize = (results: Results): string => {
  const ways = waysOf(results);
  return [
    `## ${amount(results.profiles)} profiles`,
    machines(results),
    '### Loading',
    loading(results),
    '### Searches',
    'Milliseconds, one search at a time, each query of a class several times over: p50 / p99 / longest.',
    searches(ways, ({ warm }) => warm),
    '### Processor time',
    'Of the same searches, milliseconds of the answering process, and of the backends of PostgreSQL: p50 / p99 / longest.',
    searches(ways, ({ cpu }) => cpu),
    '### First searches',
    'Each query for the first time in a new process: p50 / p99 / longest. The files may be in the system’s cache.',
    searches(ways, ({ cold }) => cold),
    '### The process that answers',
    processes(ways),
    '### Free searches',
    `The counts of matches that cost most, all different: milliseconds of processor time on average, and what ${freeRate} a minute, the usual limit of an address, take of a core.`,
    counts(ways),
    '### Chats beside hostile searches',
    chats(results),
    ...(results.profiles > goalProfiles ? [] : ['### Goals', reached(ways)]),
  ].join('\n\n');
};

const waysOf = ({ engines }: Results): Way[] =>
  engineNames.flatMap((engine) =>
    (engines[engine]?.searches ?? []).map((figures) => ({
      engine,
      access: figures.access,
      label: labels[engine][figures.access],
      figures,
    })),
  );

const labels: Record<EngineName, Record<Access, string>> = {
  embedded: { gateway: 'embedded', direct: 'embedded, no thread' },
  postgres: { gateway: 'PostgreSQL', direct: 'PostgreSQL, one connection' },
};

const machines = ({ seed, engines }: Results): string =>
  table(
    ['engine', 'measured', 'machine', 'system', 'Node', 'load before'],
    engineNames.flatMap((name) => {
      const results = engines[name];
      const machine = results?.searches[0]?.machine ?? results?.load?.machine;
      if (results === undefined || machine === undefined) return [];
      return [[name, results.measuredAt, hardware(machine), machine.system, machine.node, loads(results)]];
    }),
  ) + `\n\nSeed ${seed}.`;

const hardware = ({ model, cores, memoryGiB }: Machine): string =>
  `${model}, ${cores} cores, ${memoryGiB} GiB`;

const loads = ({ load, searches: measured }: EngineResults): string =>
  [load, ...measured].map((step) => step?.machine.loadAverage ?? '–').join(', ');

const loading = ({ engines }: Results): string =>
  table(
    [
      'engine',
      'from',
      'rows/s',
      'rows per CPU second',
      'seconds',
      'CPU s',
      'of them PostgreSQL',
      'peak MiB',
      'index MiB',
      'bytes a profile',
    ],
    engineNames.flatMap((name) => {
      const load = engines[name]?.load;
      if (load === null || load === undefined) return [];
      return [
        [
          name,
          load.input,
          amount(load.rowsPerSecond),
          amount(Math.round(load.profiles / Math.max(0.1, load.cpuSeconds))),
          String(load.seconds),
          String(load.cpuSeconds),
          String(load.serverCpuSeconds ?? '–'),
          amount(load.peakMiB),
          amount(Math.round(load.bytes / 2 ** 20)),
          amount(Math.round(load.bytes / load.profiles)),
        ],
      ];
    }),
  );

const searches = (ways: Way[], cell: (figures: ClassFigures) => Spread): string => {
  const names = [...new Set(ways.flatMap(({ figures }) => figures.classes.map(({ name }) => name)))];
  const middles = ways.map(({ figures }) => {
    const spreads = figures.classes.map(cell);
    const middle = (key: 'p50' | 'p99' | 'max'): number => spreadOf(spreads.map((one) => one[key]))?.p50 ?? 0;
    return `**${spread({ p50: middle('p50'), p99: middle('p99'), max: middle('max') })}**`;
  });
  const rows = names.map((name) => {
    const found = ways.map(({ figures }) => figures.classes.find((figuresOf) => figuresOf.name === name));
    const results = found.find((figures) => figures !== undefined)?.results ?? '–';
    return [
      name,
      String(results),
      ...found.map((figures) => (figures === undefined ? '–' : spread(cell(figures)))),
    ];
  });
  return table(
    ['class', 'results', ...ways.map(({ label }) => label)],
    [...rows, ['**median of the classes**', '', ...middles]],
  );
};

const counts = (ways: Way[]): string =>
  table(
    ['', 'class', 'CPU ms', 'share of a core'],
    ways.flatMap(({ label, figures }) =>
      figures.counts.map(({ name, cpu }) => [
        label,
        name,
        cpu.mean.toFixed(1),
        `${(shareOfCore(cpu.mean) * 100).toFixed(1)} %`,
      ]),
    ),
  );

const chats = ({ engines }: Results): string =>
  table(
    ['engine', 'chats alone, ms', 'beside hostile searches, ms', 'of these a second', 'their ms', 'refused'],
    engineNames.flatMap((name) => {
      const figures = engines[name]?.chats;
      if (figures === null || figures === undefined) return [];
      const { alone, beside, hostile } = figures;
      return [
        [
          name,
          cellOf(alone.times),
          cellOf(beside.times),
          amount(hostile.perSecond),
          cellOf(hostile.times),
          amount(hostile.refused),
        ],
      ];
    }),
  ) + '\n\nEach p50 / p99 / longest.';

const cellOf = (times: Spread | null): string => (times === null ? '–' : spread(times));

const processes = (ways: Way[]): string =>
  table(
    [
      '',
      'opens in ms',
      'MiB before / open / end / peak',
      'searches/s, many callers',
      'their p50 / p99 / longest',
      'loop late, idle',
      'loop late, one caller',
      'loop late, many',
    ],
    ways.map(({ label, figures: { openMs, memoryMiB, throughput, loop } }) => [
      label,
      amount(Math.round(openMs)),
      [memoryMiB.before, memoryMiB.opened, memoryMiB.end, memoryMiB.peak].map(amount).join(' / '),
      throughput === null
        ? '–'
        : `${amount(throughput.perSecond)} (${throughput.callers} callers, ${throughput.refused} refused)`,
      cellOf(throughput?.times ?? null),
      late(loop?.idle),
      late(loop?.oneCaller),
      late(loop?.manyCallers),
    ]),
  ) +
  '\n\nLate: by how many milliseconds timers of the main thread came late, p99 / longest; in brackets its longest ' +
  'stretch of work, in processor time.';

const reached = (ways: Way[]): string =>
  ways
    .filter(({ access }) => access === 'gateway')
    .flatMap(({ label, figures }) => [
      `- ${label}: p50 below ${goals.p50Ms} ms, p99 below ${goals.p99Ms} ms in every class, the median class at most ${goals.medianMs} ms, free searches at most ${goals.freeShare * 100} % of a core, the main thread never held for ${goals.loopMs} ms.`,
      ...(['clock', 'processor'] as const).map(
        (by) => `  - ${outcome(missesOf(figures, { goals, by }), by)}`,
      ),
    ])
    .join('\n');

const outcome = (misses: string[], by: 'clock' | 'processor'): string => {
  const measure = by === 'clock' ? 'By the clock' : 'By the processor time of the answering process';
  return `${measure}: ${misses.length === 0 ? 'met' : `missed by ${misses.length}: ${misses.join('; ')}`}.`;
};
