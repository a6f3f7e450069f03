import { statsView } from '../../operator/leads/leads.ts';
import type { Answer } from '../command-context.ts';
import type { CommandDefinition, LeadCommandDefinition } from '../command-definition.ts';
import { convertCommand } from './convert-command.ts';
import { exportCommand } from './export-command.ts';
import { figureLines, formatBytes, formatCount } from './figures.ts';
import { importCommand } from './import-command.ts';
import { deleteCommand, restoreCommand } from './people-commands.ts';
import { describePlace, type LeadPlace } from './place.ts';

const statsCommand: LeadCommandDefinition<[]> = {
  words: 'leads stats',
  summary: 'show the number of profiles',
  description:
    'Shows the number of profiles and of forgotten people, the size on the disk and the time of the last change.',
  examples: ['causeway leads stats', 'causeway leads stats --json'],
  runOnLeads: async ({ keeper, place }) => statsAnswer(statsView.show(await keeper.stats(), place), place),
};

export const leadCommands: readonly CommandDefinition[] = [
  importCommand,
  statsCommand,
  exportCommand,
  convertCommand,
  deleteCommand,
  restoreCommand,
];

const statsAnswer = (stats: typeof statsView.example, place: LeadPlace): Answer => {
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
