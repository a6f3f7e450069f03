import { sanitizeLine } from '../../kit/text.ts';
import type { Answer } from '../command.ts';
import { toCommand } from '../form-command.ts';
import { countOf } from '../leads/figures.ts';
import type { Report } from './run-checks.ts';

export const doctorCommand = toCommand({
  usage: 'doctor',
  title: 'Check settings, folders, store, chains, providers, addresses and mounted servers',
  description:
    'Checks what must be right before customers come, and says what to do: settings, Node, folders, the store, ' +
    'Redis, buckets, payment networks and facilitators, providers, profiles, clocks, PUBLIC_URL and mounted MCP servers, ' +
    'which it starts and ends. It works beside a running gateway and without one, changes nothing, and makes no call ' +
    'that costs money. The exit code is 1 if there is a problem.',
  examples: ['--env-file .env --json'],
  run: async ({ config }) => {
    const { runChecks } = await import('./run-checks.ts');
    return toAnswer(await runChecks(config));
  },
});

const toAnswer = (reports: readonly Report[]): Answer => {
  const count = (wanted: Report['status']): number =>
    reports.filter(({ status }) => status === wanted).length;
  const problems = count('problem');
  const warnings = count('warning');
  const lines = reports.map(
    ({ check, status, message, remedy }) =>
      `${status.padEnd(7)}  ${check.padEnd(9)}  ${sanitizeLine(message)}${remedy === null ? '' : `\n${' '.repeat(20)}${sanitizeLine(remedy)}`}`,
  );
  return {
    json: { ok: problems === 0, problems, warnings, checks: [...reports] },
    text: [...lines, `${countOf(problems, 'problem')}, ${countOf(warnings, 'warning')}.`].join('\n'),
    exitCode: problems > 0 ? 1 : 0,
  };
};
