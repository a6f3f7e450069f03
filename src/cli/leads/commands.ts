import { toStatsView, type LeadStatsView } from '../../operator/leads/get-lead-stats.ts';
import type { Answer } from '../command-context.ts';
import type { CommandGroup, LeadCommandDefinition } from '../command-definition.ts';
import { convertCommand } from './convert-command.ts';
import { exportCommand } from './export-command.ts';
import { figureLines, formatBytes, formatCount } from './figures.ts';
import { importCommand } from './import-command.ts';
import { deleteCommand, restoreCommand } from './people-commands.ts';
import { describePlace, type LeadPlace } from './place.ts';

const statsCommand: LeadCommandDefinition<[]> = {
  name: 'stats',
  summary: 'show the number of profiles',
  description:
    'Shows the number of profiles and of forgotten people, the size on the disk and the time of the last change.',
  examples: ['causeway leads stats', 'causeway leads stats --json'],
  runOnLeads: async ({ keeper, place }) => statsAnswer(toStatsView(await keeper.stats(), place), place),
};

export const leadCommands: CommandGroup = {
  name: 'leads',
  summary: 'import, count, export and delete the profiles of the search',
  description:
    'Imports, counts and exports the profiles that "search_leads" finds, and forgets people on request. Running ' +
    'gateways see each change within seconds, and always whole.',
  commands: [importCommand, statsCommand, exportCommand, convertCommand, deleteCommand, restoreCommand],
};

const statsAnswer = (stats: LeadStatsView, place: LeadPlace): Answer => {
  const { profiles, synthetic, forgotten, bytes, updated_at: updatedAt, generation } = stats;
  const figures = figureLines([
    ['profiles', formatCount(profiles), synthetic ? 'generated and fictional' : ''],
    ['forgotten', formatCount(forgotten), 'people who asked for it'],
    ['size', formatBytes(bytes)],
  ]);
  const changed =
    updatedAt === null
      ? 'Nothing was imported yet.'
      : `Last changed ${updatedAt} (generation ${generation}).`;
  return {
    json: { stats },
    text: `Profiles in ${describePlace(place)}:\n${figures}\n${changed}`,
  };
};
