import { z } from 'zod';
import { isoOrNull } from '../../kit/clock.ts';
import type { LeadStats } from '../../leads/lead-keeper.ts';
import { readUsername } from '../../leads/query/read-username.ts';
import { usernameKey } from '../../leads/query/username-key.ts';
import { time } from '../../operations/answer-fields.ts';
import type { StoreSettings } from '../../store/store-settings.ts';
import { inGateway, readVerb, writeVerb } from '../verb.ts';
import { defineView, like } from '../view.ts';

type Place = Pick<StoreSettings, 'databaseUrl'>;

export const placeSchema = z
  .enum(['embedded', 'postgres'])
  .describe('`embedded`: in `DATA_DIR/leads`; `postgres`: in the database of the store.');

export const placeName = ({ databaseUrl }: Place): z.output<typeof placeSchema> =>
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
  updated_at: [time.nullable(), ({ updatedAt }) => isoOrNull(updatedAt), '2026-11-01T08:00:00.000Z'],
});

export const getLeadStats = readVerb({
  name: 'get_lead_stats',
  title: 'Count the profiles of the search',
  description: 'The number of profiles and of forgotten people, their size on the disk and the last change.',
  group: 'leads',
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

const username = z
  .string()
  .max(10_000)
  .transform((text, context) => {
    const read = readUsername(text);
    if ('name' in read) return read.name;
    context.addIssue({ code: 'custom', message: read.problem });
    return z.NEVER;
  });

/** The audit log must not keep the names of people who asked to be forgotten. */
export const loggedPeople = ({ usernames }: { usernames: readonly string[] }) => ({
  people: usernames.length,
});

const ofPeople = {
  group: 'leads',
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
