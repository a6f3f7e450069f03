import { z } from 'zod';
import { isoOrNull } from '../../kit/clock.ts';
import type { LeadStats } from '../../leads/lead-keeper.ts';
import type { StoreSettings } from '../../store/store-settings.ts';
import { time } from '../../operations/answer-fields.ts';
import { inGateway, operatorRead } from '../operator-operation.ts';
import { placeFields, toPlaceView } from './kept-place-view.ts';

const statsSchema = z.strictObject({
  ...placeFields,
  generation: z.string().nullable().describe('Another one with every change of the profiles.'),
  profiles: z.int(),
  synthetic: z.boolean().describe('True: they are generated and fictional.'),
  forgotten: z.int().describe('People who asked to be forgotten.'),
  bytes: z.int().describe('Their size on the disk.'),
  updated_at: time.nullable(),
});

export type LeadStatsView = z.output<typeof statsSchema>;

export const toStatsView = (
  { updatedAt, ...stats }: LeadStats,
  place: Pick<StoreSettings, 'databaseUrl'>,
): LeadStatsView => ({
  ...toPlaceView(place),
  ...stats,
  updated_at: isoOrNull(updatedAt),
});

export const getLeadStats = operatorRead({
  name: 'get_lead_stats',
  title: 'Count the profiles of the search',
  description: 'The number of profiles and of forgotten people, their size on the disk and the last change.',
  group: 'leads',
  path: '/leads/stats',
  fields: {},
  output: z.strictObject({ stats: statsSchema }),
  answer: 'LeadStats',
  example: {
    input: {},
    answer: {
      stats: {
        place: 'embedded',
        generation: '0b9f3c1e5d0a4c59',
        profiles: 120_000,
        synthetic: false,
        forgotten: 3,
        bytes: 61_000_000,
        updated_at: '2026-11-01T08:00:00.000Z',
      },
    },
  },
  errors: ['leads_damaged', 'leads_failed'],
  handle: async (_input, services) => {
    const { desk, place } = inGateway(services).leads;
    return { stats: toStatsView(await desk.stats(), place) };
  },
});
