import { Option } from 'commander';
import { listAudit } from '../../operator/audit/list-audit.ts';
import { limitOption, type CommandDefinition, type CommandGroup } from '../command-definition.ts';
import { exampleId } from '../examples.ts';
import { formatTable } from '../format-table.ts';

interface ListOptions {
  actor?: string;
  operation?: string;
  since?: string;
  after?: string;
  limit: number;
}

const columns = {
  AT: 'at',
  ACTOR: 'actor',
  LABEL: 'actor_label',
  OPERATION: 'operation',
  OUTCOME: 'outcome',
  ERROR: 'error',
  INPUT: 'input',
};

const list: CommandDefinition<[ListOptions]> = {
  name: 'list',
  summary: 'list the changes that operators made',
  description:
    'Lists the changes that operators made, over HTTP and on the command line, and the calls that were refused, newest ' +
    'first. OUTCOME is "started" for a change that has not ended, or whose process ended before.',
  examples: [
    'causeway audit list',
    'causeway audit list --operation credit_account --since 2026-11-01',
    `causeway audit list --actor key:${exampleId} --json | jq -r '.changes[].operation'`,
  ],
  options: [
    new Option('--actor <actor>', 'only those of key:<id> or cli:<user>'),
    new Option('--operation <name>', 'only those of this operation'),
    new Option('--since <time>', 'only those since this time: a date, or a date-time with its zone'),
    limitOption(1_000, 100),
    new Option('--after <change>', 'list only changes before this one: the next page'),
  ],
  run: async ({ operate }, options) => {
    const page = await operate(listAudit, options);
    const { changes, has_more: hasMore } = page;
    return {
      json: page,
      text: changes.length === 0 ? 'There are no such changes.' : formatTable(columns, changes),
      remark: hasMore ? `There are more: add --after ${changes.at(-1)?.id}` : undefined,
    };
  },
};

export const auditCommands: CommandGroup = {
  name: 'audit',
  summary: 'show who changed what',
  description: 'Shows which operator changed what, and when.',
  commands: [list],
};
