import type { Command } from 'commander';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import type { LeadStats } from '../../leads/lead-keeper.ts';
import type { Answer, CommandContext } from '../command-context.ts';
import { addExamples } from '../examples.ts';
import { addLeadExportCommand } from './export-command.ts';
import { countOf, figureLines, formatBytes, formatCount } from './figures.ts';
import { addImportCommand } from './import-command.ts';
import { addDeleteCommand, addRestoreCommand } from './people-commands.ts';
import { describePlace, placeJson, type LeadPlace } from './place.ts';

/** Adds `leads import`, `stats`, `export`, `delete` and `restore`. */
export const addLeadCommands = (program: Command, context: CommandContext): void => {
  const leads = program
    .command('leads')
    .summary('import, count, export and delete the profiles of the search')
    .description(
      'Imports, counts and exports the profiles that "search_leads" finds, and forgets people on request. Running ' +
        'gateways see each change within seconds, and always whole.',
    );
  addExamples(leads, [
    'causeway leads import profiles.csv',
    'causeway leads stats',
    'causeway leads delete jane.doe',
  ]);
  addImportCommand(leads, context);
  addStatsCommand(leads, context);
  addLeadExportCommand(leads, context);
  addDeleteCommand(leads, context);
  addRestoreCommand(leads, context);
};

const addStatsCommand = (leads: Command, context: CommandContext): void => {
  const stats = leads
    .command('stats')
    .summary('show the number of profiles')
    .description(
      'Shows the number of profiles and of forgotten people, the size on the disk, the time of the last change, and ' +
        'any unfinished import.',
    )
    .action(() =>
      context.runOnLeads({}, async ({ keeper, place }) => statsAnswer(await keeper.stats(), place)),
    );
  addExamples(stats, ['causeway leads stats', 'causeway leads stats --json']);
};

const statsAnswer = (
  { profiles, synthetic, forgotten, bytes, updatedAt, unfinished, generation }: LeadStats,
  place: LeadPlace,
): Answer => {
  const figures = figureLines([
    ['profiles', formatCount(profiles), synthetic ? 'generated and fictional' : ''],
    ['forgotten', formatCount(forgotten), 'people who asked for it'],
    ['size', formatBytes(bytes)],
  ]);
  const changed =
    updatedAt === null
      ? 'Nothing was imported yet.'
      : `Last changed ${toIso(updatedAt)} (generation ${generation}).`;
  return {
    json: {
      stats: {
        ...placeJson(place),
        generation,
        profiles,
        synthetic,
        forgotten,
        bytes,
        updated_at: isoOrNull(updatedAt),
        unfinished: unfinished && { rows: unfinished.rows, started_at: toIso(unfinished.startedAt) },
      },
    },
    text: `Profiles in ${describePlace(place)}:\n${figures}\n${changed}`,
    remark: unfinished
      ? `An import of ${toIso(unfinished.startedAt)} is unfinished, after ${countOf(unfinished.rows, 'row')}: ` +
        'the same command continues it, another import discards it.'
      : undefined,
  };
};
