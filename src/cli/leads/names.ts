import { createReadStream } from 'node:fs';
import { checkLead } from '../../leads/query/check-lead.ts';
import { fieldNamed } from '../../leads/import/column-names.ts';
import { fileProblem } from '../../leads/import/open-raw-file.ts';
import { usernameKey } from '../../leads/query/username-key.ts';
import { CommandError } from '../command-error.ts';
import { formatCount } from './figures.ts';
import { printable } from '../printable.ts';

/** One change is made of all names together, in memory. */
const mostNames = 1_000_000;
const longestLine = 10_000;

export interface NamesGiven {
  /** The words of the command; `-` stands for standard input. */
  usernames: readonly string[];
  /** A file of names, one a line; `-` is standard input. */
  file?: string;
}

const anybody = { full_name: '', followers: 0, following: 0, is_verified: false, is_business: false };

/** A name as profiles have it, without its at-sign. Throws CommandError, which says where it stands. */
const readName = (text: string, where: string): string => {
  const checked = checkLead({ ...anybody, username: text });
  if ('lead' in checked) return checked.lead.username;
  throw new CommandError('invalid_usage', printable(`${where}${checked.problem} Nothing was changed.`));
};

interface Line {
  text: string;
  where: string;
}

/** Lines of UTF-8 text; memory stays flat whatever there is in it. Throws CommandError `input_failed`. */
const readLines = async function* (source: NodeJS.ReadableStream, file: string): AsyncGenerator<Line> {
  const refuse = (problem: string, cause?: unknown): CommandError =>
    new CommandError('input_failed', `${file} ${problem} Nothing was changed.`, { cause });
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  let line = 0;
  try {
    for await (const chunk of source) {
      const lines = (rest + decoder.decode(Buffer.from(chunk), { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > longestLine) throw refuse('is no list of usernames, one a line.');
      for (const text of lines) yield { text, where: `${file}, line ${(line += 1)}: ` };
    }
    yield { text: rest + decoder.decode(), where: `${file}, line ${line + 1}: ` };
  } catch (error) {
    if (error instanceof CommandError) throw error;
    if (error instanceof TypeError) throw refuse('is not UTF-8 text.', error);
    throw new CommandError('input_failed', `${fileProblem(file, error).message} Nothing was changed.`, {
      cause: error,
    });
  }
};

/** Refuses the heading of a column of names: it would stand for somebody of that name. Throws CommandError. */
const checkNoHeading = ({ text, where }: Line): void => {
  const name = text.trim();
  if (name.startsWith('@') || fieldNamed(name)?.field !== 'username') return;
  throw new CommandError(
    'invalid_usage',
    printable(
      `${where}"${name}" looks like the heading of a column; remove the line, or write @${name} for somebody of that name. Nothing was changed.`,
    ),
  );
};

const shownName = (path: string): string => (path === '-' ? 'Standard input' : path);

/** The names that a command is about, each once. Throws CommandError, before anything is changed. */
export const readNames = async (
  { usernames, file }: NamesGiven,
  { stdin }: { stdin: () => NodeJS.ReadableStream },
): Promise<string[]> => {
  const names = new Map<string, string>();
  const add = (text: string, where: string): void => {
    const name = readName(text, where);
    names.set(usernameKey(name), name);
    if (names.size > mostNames)
      throw new CommandError(
        'invalid_usage',
        `Name at most ${formatCount(mostNames)} people at once. Nothing was changed.`,
      );
  };
  for (const text of usernames) if (text !== '-') add(text, '');
  const files = [
    ...new Set([...(usernames.includes('-') ? ['-'] : []), ...(file === undefined ? [] : [file])]),
  ];
  for (const path of files) {
    const source = path === '-' ? stdin() : createReadStream(path);
    let isFirst = true;
    for await (const line of readLines(source, shownName(path))) {
      if (line.text.trim() === '') continue;
      if (isFirst) checkNoHeading(line);
      isFirst = false;
      add(line.text, line.where);
    }
  }
  if (names.size === 0)
    throw new CommandError(
      'invalid_usage',
      files.length === 0
        ? 'Name at least one person, or a file of names with --file.'
        : `${printable(files.map(shownName).join(' and '))}: there is no name in it. Nothing was changed.`,
    );
  return [...names.values()];
};
