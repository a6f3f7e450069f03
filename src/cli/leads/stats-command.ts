import type { Command } from 'commander';
import { toIso } from '../../kit/clock.ts';
import type { LeadStats } from '../../leads/lead-keeper.ts';
import type { Answer, CommandContext } from '../command-context.ts';
import { addExamples } from '../examples.ts';
import { countOf, figureLines, formatBytes, formatCount } from './figures.ts';
import { placeOption } from './place-option.ts';
import { describePlace, type LeadPlace, type LeadPlaceName } from './place.ts';

const statsAnswer = (stats: LeadStats, place: LeadPlace): Answer => {
  const { profiles, synthetic, forgotten, bytes, updatedAt, unfinished } = stats;
  const figures = figureLines([
    ['profiles', formatCount(profiles), synthetic ? 'generated and fictional' : ''],
    ['forgotten', formatCount(forgotten), 'people who asked to be'],
    ['size', formatBytes(bytes)],
  ]);
  const imported = updatedAt === null ? 'Nothing was imported yet.' : `Last changed ${toIso(updatedAt)}.`;
  const remark =
    unfinished === null
      ? null
      : `An import that began ${toIso(unfinished.startedAt)} did not end, after ${countOf(unfinished.rows, 'row')}: ` +
        'the same command goes on with it, another import gives it up.';
  return {
    json: {
      stats: {
        place: place.kind,
        profiles,
        synthetic,
        forgotten,
        bytes,
        updated_at: updatedAt === null ? null : toIso(updatedAt),
        unfinished:
          unfinished === null ? null : { rows: unfinished.rows, started_at: toIso(unfinished.startedAt) },
      },
    },
    text: `Profiles in ${describePlace(place)}:\n${figures}\n${imported}`,
    ...(remark === null ? {} : { remark }),
  };
};

/** Adds `leads stats`. */
export const addStatsCommand = (leads: Command, context: CommandContext): void => {
  const stats = leads
    .command('stats')
    .summary('tell how many profiles there are')
    .description(
      'Tells how many profiles there are, how many people asked to be forgotten, what it all takes on the disk, when ' +
        'profiles were imported last, and whether an import did not end.',
    )
    .addOption(placeOption())
    .action(({ to }: { to?: LeadPlaceName }) =>
      context.runOnLeads({ to }, async ({ keeper, place }) => statsAnswer(await keeper.stats(), place)),
    );
  addExamples(stats, ['causeway leads stats', 'causeway leads stats --to postgres --json']);
};
