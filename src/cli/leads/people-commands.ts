import { createReadStream } from 'node:fs';
import { Argument, Option } from 'commander';
import { fieldNamed } from '../../leads/import/column-names.ts';
import { fileProblem } from '../../leads/import/raw-bytes.ts';
import { LeadIndexError } from '../../leads/lead-index.ts';
import { readUsername } from '../../leads/query/check-lead.ts';
import { usernameKey } from '../../leads/query/username-key.ts';
import { forgetPeople, loggedPeople, restorePeople } from '../../operator/leads/leads.ts';
import type { LeadSession } from '../command-context.ts';
import type { LeadCommandDefinition } from '../command-definition.ts';
import { CommandError } from '../command-error.ts';
import { sanitizeLine } from '../../kit/text.ts';
import { countOf, formatCount } from './figures.ts';

/** All names are changed together, in memory. */
const maxNames = 1_000_000;
const maxLineLength = 10_000;

const refuse = (message: string): CommandError =>
  new CommandError('invalid_usage', `${sanitizeLine(message)} Nothing was changed.`);

/** Returns the name as profiles have it, without its at-sign. Throws CommandError, which begins with `where`. */
const readName = (text: string, where: string): string => {
  const read = readUsername(text);
  if ('name' in read) return read.name;
  throw refuse(`${where}${read.problem}`);
};

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

interface PeopleOptions {
  file?: string;
}

/** Reads the names from the arguments and --file, each once; `-` is standard input. Throws CommandError. */
export const readNames = async (
  { usernames, file }: { usernames: readonly string[]; file?: string | undefined },
  { stdin }: Pick<LeadSession, 'stdin'>,
): Promise<string[]> => {
  const names = new Map<string, string>();
  const add = (text: string, where: string): void => {
    const name = readName(text, where);
    names.set(usernameKey(name), name);
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
  arguments: [
    new Argument(
      '[username...]',
      'their usernames, with or without the at-sign; "-" reads them from standard input',
    ),
  ],
  options: [new Option('--file <file>', 'a file of usernames, one a line')],
};

/** Adds that nobody was forgotten, which must not be mistaken. */
const sayNobody = (error: unknown): never => {
  throw error instanceof LeadIndexError && error.problem === 'busy'
    ? new LeadIndexError('busy', `${error.message} Nobody was forgotten.`, { cause: error })
    : error;
};

export const deleteCommand: LeadCommandDefinition<[usernames: string[], PeopleOptions]> = {
  words: 'leads delete',
  summary: 'forget people for good',
  description:
    'Forgets people on their request: no search finds them from now on, their data is erased, and no import adds ' +
    'them again. This holds for people without a profile too. Only a digest of the name is kept. A service with ' +
    'leads.http.forget in causeway.yaml is told to delete them, too. "leads restore" lets them be imported again.',
  examples: [
    'causeway leads delete jane.doe',
    'causeway leads delete --file requests.txt --json',
    'causeway leads delete -',
  ],
  ...people,
  runOnLeads: async ({ keeper, forgetUpstream, stdin, audited }, usernames, { file }) => {
    const names = await readNames({ usernames, file }, { stdin });
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
};

export const restoreCommand: LeadCommandDefinition<[usernames: string[], PeopleOptions]> = {
  words: 'leads restore',
  summary: 'let forgotten people be imported again',
  description:
    'Lets people be imported again after "leads delete". Their profiles are erased and come back only with the next ' +
    'import that names them.',
  examples: ['causeway leads restore jane.doe', 'causeway leads restore --file requests.txt'],
  ...people,
  runOnLeads: async ({ keeper, stdin, audited }, usernames, { file }) => {
    const names = await readNames({ usernames, file }, { stdin });
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
};
