import { parseArgs } from 'node:util';

export const sectionNames = [
  'chat',
  'responses',
  'mcp',
  'rest',
  'paid',
  'telemetry',
  'jobs',
  'memory',
  'start',
  'growth',
  'replicas',
] as const;
export type SectionName = (typeof sectionNames)[number];
/** They have no goals, and run only if `--only` names them. */
const onlyByName: readonly SectionName[] = ['growth', 'replicas'];

/** Throws when an option is wrong. */
export const readOptions = () => {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '1' },
      minutes: { type: 'string', default: '1.5' },
      save: { type: 'boolean', default: false },
      results: { type: 'string', default: './bench/results' },
      note: { type: 'string', default: '' },
    },
  });
  const { only, results, note } = values;
  const wanted = only?.split(',');
  const unknown = wanted?.filter((name) => !sectionNames.some((known) => known === name)) ?? [];
  const [rounds = 0, seconds = 0, minutes = 0] = [values.rounds, values.seconds, values.minutes].map(Number);
  if (unknown.length > 0) throw new Error(`--only: there are ${sectionNames.join(', ')}`);
  if (!(rounds >= 1 && seconds > 0 && minutes > 0))
    throw new Error('--rounds, --seconds and --minutes must be numbers above 0');
  return {
    sections: sectionNames.filter((name) => wanted?.includes(name) ?? !onlyByName.includes(name)),
    rounds,
    /** Of one burst of requests. */
    seconds,
    /** Of the load while memory is watched. */
    minutes,
    note,
    /** Null: the results are only printed. */
    saveAs:
      wanted === undefined || values.save
        ? { folder: results, name: ['gateway', ...(wanted ?? [])].join('-') }
        : null,
  };
};
