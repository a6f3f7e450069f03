import { z } from 'zod';
import {
  type ColumnMap,
  type InputProgress,
  type RejectedRow,
  LeadInputError,
} from '../leads/import/input-options.ts';
import { readColumn, readDefault, readDelimiter, readRejectedLimit } from '../leads/import/read-options.ts';
import type { LeadDefaults } from '../leads/lead-fields.ts';
import type { LeadStats, ImportedProfiles } from '../leads/lead-index.ts';
import { readUsername } from '../leads/query/check-lead.ts';
import { usernameKey } from '../leads/query/fold-text.ts';
import { timeOrNullOf } from '../operations/answer-fields.ts';
import type { StoreSettings } from '../store/store-settings.ts';
import { readField } from './fields.ts';
import { inGateway, readVerb, writeVerb } from './verb.ts';
import { defineView, like } from '../operations/view.ts';

type Place = Pick<StoreSettings, 'databaseUrl'>;

export const placeSchema = z
  .enum(['embedded', 'postgres'])
  .describe('`embedded`: in `DATA_DIR/leads`; `postgres`: in the database of the store.');

const placeName = ({ databaseUrl }: Place): z.output<typeof placeSchema> =>
  databaseUrl === null ? 'embedded' : 'postgres';

export const statsView = defineView<LeadStats, Place>({
  generation: 'Another one with every change of the profiles.',
  synthetic: 'True: they are generated and fictional.',
  forgotten: 'People who asked to be forgotten.',
  bytes: 'Their size on the disk.',
})({
  place: [placeSchema, (_stats, place) => placeName(place), 'embedded'],
  generation: [z.string().nullable(), 'generation', '0b9f3c1e5d0a4c59'],
  profiles: [z.int(), 'profiles', 120_000],
  synthetic: [z.boolean(), 'synthetic', false],
  forgotten: [z.int(), 'forgotten', 3],
  bytes: [z.int(), 'bytes', 61_000_000],
  updated_at: timeOrNullOf('updatedAt', '2026-11-01T08:00:00.000Z'),
});

export const getLeadStats = readVerb({
  name: 'get_lead_stats',
  title: 'Count the profiles of the search',
  description: 'The number of profiles and of forgotten people, their size on the disk and the last change.',
  path: '/leads/stats',
  fields: {},
  output: z.strictObject({ stats: statsView.schema }),
  answer: 'LeadStats',
  errors: ['leads_damaged', 'leads_failed'],
  handle: async (_input, services) => {
    const { desk, place } = inGateway(services).leads;
    return { stats: statsView.show(await desk.stats(), place) };
  },
});

/** The command line takes more. */
const maxNames = 10_000;

const username = readField(10_000, (text, refuse): string => {
  const read = readUsername(text);
  return 'name' in read ? read.name : refuse(read.problem);
});

/** The audit log must not keep the names of people who asked to be forgotten. */
export const loggedPeople = ({ usernames }: { usernames: readonly string[] }) => ({
  people: usernames.length,
});

const ofPeople = {
  fields: {
    usernames: z
      .array(username)
      .min(1)
      .max(maxNames)
      .transform((names) => [...new Map(names.map((name) => [usernameKey(name), name])).values()])
      .describe('Their usernames, with or without the at-sign. At most 10,000.'),
  },
  logged: loggedPeople,
  example: { usernames: ['jane.doe'] },
  errors: ['leads_busy', 'leads_damaged', 'leads_failed', 'overloaded'] as const,
};

export const forgetPeople = writeVerb({
  ...ofPeople,
  name: 'forget_people',
  title: 'Forget people for good',
  description:
    'Forgets people on their request: no search finds them from now on, their data is erased, and no import adds them ' +
    'again. This holds for people without a profile too. Only a digest of each name is kept. If leads.http has a ' +
    'request forget, it is sent then; `leads_failed` says when it failed, and the same call may be repeated. The audit ' +
    'log has their number, not their names.',
  path: '/leads/forget',
  output: z.strictObject({
    forgotten: like(z.int().describe('How many people.'), 1),
    removed: like(z.int().describe('How many of them had a profile.'), 1),
  }),
  answer: 'ForgottenPeople',
  handle: async ({ usernames }, services) => {
    const { desk, forgetUpstream } = inGateway(services).leads;
    const { removed } = await desk.forget(usernames);
    await forgetUpstream(usernames);
    return { forgotten: usernames.length, removed };
  },
});

export const restorePeople = writeVerb({
  ...ofPeople,
  name: 'restore_people',
  title: 'Let forgotten people be imported again',
  description:
    'Lets people be imported again. Their profiles are erased and come back only with the next import that names them.',
  path: '/leads/restore',
  output: z.strictObject({
    restored: like(z.int(), 1),
    not_forgotten: like(z.int().describe('How many of the names were not forgotten.'), 0),
  }),
  answer: 'RestoredPeople',
  handle: async ({ usernames }, services) => {
    const { desk } = inGateway(services).leads;
    const { restored } = await desk.remember(usernames);
    return { restored, not_forgotten: usernames.length - restored };
  },
});

/** The rows of an input that were not imported as they are, and why. */
export interface LeftOut {
  input: Pick<InputProgress, 'rejected' | 'unknownCountries'>;
  firstRejected: readonly RejectedRow[];
  /** The file with all rejected rows; null: there is none. */
  report: string | null;
}

interface EndedImport extends ImportedProfiles, LeftOut {
  place: Place;
}

const count = z.int();

export const importView = defineView<EndedImport>({
  removed: 'Profiles that `replace` dropped; null: not known.',
  repeated: 'Rows that a later row with the same username replaced.',
  forgotten: 'Rows of people who asked to be forgotten.',
  unknown_countries: 'Rows whose country is not known. They are imported without it.',
  profiles: 'How many there are now.',
  report: 'The file with all rejected rows; only on the command line.',
})({
  place: [placeSchema, ({ place }) => placeName(place), 'embedded'],
  mode: [z.enum(['upsert', 'replace']), 'mode', 'upsert'],
  rows: [count, ({ outcome }) => outcome.rows, 5_000],
  added: [count, ({ outcome }) => outcome.added, 4_900],
  updated: [count, ({ outcome }) => outcome.updated, 100],
  removed: [count.nullable(), ({ outcome }) => outcome.removed, 0],
  repeated: [count, ({ outcome }) => outcome.repeated, 0],
  forgotten: [count, ({ outcome }) => outcome.forgotten, 0],
  rejected: [count, ({ input }) => input.rejected, 1],
  unknown_countries: [count, ({ input }) => input.unknownCountries.rows, 1],
  profiles: [count, ({ outcome }) => outcome.profiles, 124_900],
  duration_ms: [count, 'durationMs', 900],
  rows_per_second: [
    count.nullable(),
    ({ outcome, durationMs }) => (durationMs === 0 ? null : Math.round((outcome.rows / durationMs) * 1_000)),
    5_556,
  ],
  report: [z.string().nullable(), 'report', null],
  first_rejected: [
    z.array(z.strictObject({ file: z.string(), line: count, problem: z.string() })),
    ({ firstRejected }) => firstRejected.map(({ file, line, problem }) => ({ file, line, problem })),
    [{ file: '-', line: 17, problem: 'followers must be a whole number.' }],
  ],
  first_unknown_countries: [
    z.array(z.string()),
    ({ input }) => [...input.unknownCountries.first],
    ['"Atlantis"'],
  ],
});

const maxLength = 200;

/** Reads a text, or several, as the command line does. */
const readWith = <T>(read: (text: string, before: T | undefined) => T) =>
  z
    .union([z.string().max(maxLength), z.array(z.string().max(maxLength)).max(50)])
    .transform((given, context): T => {
      try {
        const [first = '', ...others] = [given].flat();
        return others.reduce((before: T, text) => read(text, before), read(first, undefined));
      } catch (error) {
        if (!(error instanceof LeadInputError)) throw error;
        context.addIssue(error.message);
        return z.NEVER;
      }
    });

/** How rows are read, over HTTP and of files. */
export const readingFields = {
  column: readWith<ColumnMap>(readColumn)
    .optional()
    .describe('Reads a field from another column, as `followers=fans`. Repeat it for several fields.'),
  default: readWith<LeadDefaults>(readDefault)
    .optional()
    .describe('The value of a field for rows without it, as `following=0`. Repeat it for several fields.'),
  delimiter: readWith(readDelimiter).optional().describe('The character between columns of CSV, or `tab`.'),
  header: z.boolean().default(true).describe('False: the first line of CSV is a row.'),
  max_rejected: readWith(readRejectedLimit)
    .optional()
    .describe('Change nothing if more rows are rejected: a number, or a share such as `5%`. Default: 1%.'),
};

/** Takes the options of a reader from the input of an import. */
export const toReading = ({
  column: columns,
  default: defaults,
  delimiter,
  header: hasHeader,
  max_rejected: maxRejected,
}: z.output<z.ZodObject<typeof readingFields>>) => ({ columns, defaults, delimiter, hasHeader, maxRejected });

export const importLeads = writeVerb({
  name: 'import_leads',
  title: 'Import profiles',
  description:
    'Imports the profiles in the body of the request, CSV or JSON Lines, plain or compressed with gzip or zstd, while it ' +
    'comes. The first bytes tell the form; the Content-Type may be missing, and another than those below gets 415. ' +
    'Searches see all of them at once, at the end. A body that breaks off changes nothing. Rows without a valid ' +
    'profile are left out and counted, and so are forgotten people; if more than 1% are not valid, nothing is imported. ' +
    'Large files are for `causeway leads import`, which may take longer than five minutes.',
  path: '/leads/import',
  accepts: ['text/csv', 'application/x-ndjson', 'application/octet-stream'],
  fields: {
    replace: z.boolean().default(false).describe('Drop all profiles that the body does not name.'),
    format: z.enum(['csv', 'jsonl']).optional().describe('By default the first bytes tell.'),
    ...readingFields,
  },
  output: z.strictObject({ import: importView.schema }),
  answer: 'LeadImport',
  example: { format: 'csv', max_rejected: '5%' },
  errors: [
    'input_failed',
    'too_many_rejected',
    'nothing_imported',
    'leads_busy',
    'leads_damaged',
    'leads_failed',
    'overloaded',
  ],
  handle: async ({ replace, format, ...given }, services) => {
    const { body, leads } = inGateway(services);
    const { desk, place } = leads;
    const mode = replace ? 'replace' : 'upsert';
    const imported = await desk.importStream({ mode, format, ...toReading(given) }, body);
    return { import: importView.show({ ...imported, place, report: null }) };
  },
});
