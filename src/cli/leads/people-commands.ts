import { createReadStream } from 'node:fs';
import { z } from 'zod';
import { fieldNamed } from '../../leads/import/column-names.ts';
import { fileProblem } from '../../leads/import/raw-bytes.ts';
import { LeadIndexError } from '../../leads/lead-index.ts';
import { readUsername } from '../../leads/query/check-lead.ts';
import { usernameKey } from '../../leads/query/fold-text.ts';
import { forgetPeople, getLeadStats, loggedPeople, restorePeople, statsView } from '../../operator/leads.ts';
import type { Session } from '../command.ts';
import { CommandError } from '../command-error.ts';
import { sanitizeLine } from '../../kit/text.ts';
import { countOf, formatCount, figureLines, formatBytes } from './figures.ts';
import { toCommand } from '../form-command.ts';
import { describePlace } from '../place.ts';

/** All names are changed together, in memory. */
const maxNames = 1_000_000;
const maxLineLength = 10_000;

const refuse = (message: string): CommandError =>
  new CommandError('invalid_usage', `${sanitizeLine(message)} Nothing was changed.`);

interface Line {
  text: string;
  where: string;
}

/** Reads lines of UTF-8 text with bounded memory. Throws CommandError `input_failed`. */
const readLines = async function* (source: NodeJS.ReadableStream, file: string): AsyncGenerator<Line> {
  const fail = (message: string, cause?: unknown): CommandError =>
    new CommandError('input_failed', `${message} Nothing was changed.`, { cause });
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  let line = 0;
  try {
    for await (const chunk of source) {
      const lines = (rest + decoder.decode(Buffer.from(chunk), { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > maxLineLength) throw fail(`${file} is not a list of usernames, one a line.`);
      for (const text of lines) yield { text, where: `${file}, line ${(line += 1)}: ` };
    }
    yield { text: rest + decoder.decode(), where: `${file}, line ${line + 1}: ` };
  } catch (error) {
    if (error instanceof CommandError) throw error;
    if (error instanceof TypeError) throw fail(`${file} is not UTF-8 text.`, error);
    throw fail(fileProblem(file, error).message, error);
  }
};

/** Refuses the heading of a column of names, as somebody could have that name. Throws CommandError. */
const checkNoHeading = ({ text, where }: Line): void => {
  const name = text.trim();
  if (!name.startsWith('@') && fieldNamed(name)?.field === 'username')
    throw refuse(
      `${where}"${name}" looks like the heading of a column; remove the line, or write @${name} for a person of that name.`,
    );
};

/** Reads the names from the arguments and --file, each once; `-` is standard input. Throws CommandError. */
export const readNames = async (
  { usernames, file }: { usernames: readonly string[]; file?: string | undefined },
  { stdin }: Pick<Session, 'stdin'>,
): Promise<string[]> => {
  const names = new Map<string, string>();
  const add = (text: string, where: string): void => {
    const read = readUsername(text);
    if ('problem' in read) throw refuse(`${where}${read.problem}`);
    names.set(usernameKey(read.name), read.name);
    if (names.size > maxNames) throw refuse(`Name at most ${formatCount(maxNames)} people at once.`);
  };
  for (const text of usernames) if (text !== '-') add(text, '');
  const paths = [...(usernames.includes('-') ? ['-'] : []), ...(file === undefined ? [] : [file])];
  const sources = new Map(paths.map((path) => [path, path === '-' ? 'Standard input' : path]));
  for (const [path, shown] of sources) {
    let isFirst = true;
    for await (const line of readLines(path === '-' ? stdin() : createReadStream(path), shown)) {
      if (line.text.trim() === '') continue;
      if (isFirst) checkNoHeading(line);
      isFirst = false;
      add(line.text, line.where);
    }
  }
  if (names.size > 0) return [...names.values()];
  if (sources.size === 0)
    throw new CommandError('invalid_usage', 'Name at least one person, or a file of names with --file.');
  throw refuse(`${[...sources.values()].join(' and ')}: there is no name in it.`);
};

const people = {
  fields: {
    usernames: z
      .array(z.string())
      .describe('Their usernames, with or without the at-sign; "-" reads them from standard input.'),
    file: z.string().optional().describe('A file of usernames, one a line.'),
  },
  example: { usernames: ['jane.doe'] },
};

/** Adds that nobody was forgotten, which must not be mistaken. */
const sayNobody = (error: unknown): never => {
  throw error instanceof LeadIndexError && error.problem === 'busy'
    ? new LeadIndexError('busy', `${error.message} Nobody was forgotten.`, { cause: error })
    : error;
};

export const deleteCommand = toCommand({
  ...people,
  usage: 'leads delete [username...] [--file <file>]',
  title: forgetPeople.title,
  description: forgetPeople.description,
  more: '"leads restore" lets them be imported again.',
  examples: ['--file requests.txt --json', '-'],
  run: async (session, given) => {
    const { keeper, forgetUpstream, audited } = await session.openProfiles();
    const names = await readNames(given, session);
    const { signal } = new AbortController();
    const change = { operation: forgetPeople.name, input: loggedPeople({ usernames: names }) };
    const { removed, isGoneUpstream } = await audited(change, async () => {
      const forgotten = await keeper.forget(names, { signal }).catch(sayNobody);
      return { ...forgotten, isGoneUpstream: await forgetUpstream(names) };
    });
    return {
      json: { forgotten: names.length, removed },
      text:
        `${countOf(names.length, 'person is', 'people are')} forgotten; ${countOf(removed, 'profile was', 'profiles were')} erased. ` +
        `No import adds them again.${isGoneUpstream ? ' The service of leads.http has deleted them, too.' : ''}`,
    };
  },
});

export const restoreCommand = toCommand({
  ...people,
  usage: 'leads restore [username...] [--file <file>]',
  title: restorePeople.title,
  description: restorePeople.description,
  examples: ['--file requests.txt'],
  run: async (session, given) => {
    const { keeper, audited } = await session.openProfiles();
    const names = await readNames(given, session);
    const change = { operation: restorePeople.name, input: loggedPeople({ usernames: names }) };
    const { restored } = await audited(change, () => keeper.remember(names));
    const others = names.length - restored;
    return {
      json: { restored, not_forgotten: others },
      text:
        `${countOf(restored, 'person', 'people')} can be imported again.` +
        (others === 0 ? '' : ` ${countOf(others, 'name was', 'names were')} not forgotten.`),
    };
  },
});

export const statsCommand = toCommand({
  usage: 'leads stats',
  title: getLeadStats.title,
  description: getLeadStats.description,
  examples: ['--json'],
  run: async ({ openProfiles }) => {
    const { keeper, place } = await openProfiles();
    const stats = statsView.show(await keeper.stats(), place);
    const figures = figureLines([
      ['profiles', formatCount(stats.profiles), stats.synthetic ? 'generated and fictional' : ''],
      ['forgotten', formatCount(stats.forgotten), 'people who asked for it'],
      ['size', formatBytes(stats.bytes)],
    ]);
    const changed =
      stats.updated_at === null
        ? 'Nothing was imported yet.'
        : `Last changed ${stats.updated_at} (generation ${stats.generation}).`;
    return { json: { stats }, text: `Profiles in ${describePlace(place)}:\n${figures}\n${changed}` };
  },
});
