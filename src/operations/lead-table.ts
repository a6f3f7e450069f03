import type { JsonObject } from '../json.ts';
import { oneLine } from './one-line.ts';

interface Column {
  title: string;
  /** What it shows of a profile, on one line; empty for nothing. */
  read(profile: JsonObject): string;
}

/**
 * Profiles as a table for a model to read: a line of titles and a line for each, cells divided by ` | `. A column in
 * which no profile has anything is left out, an empty cell is `-`. No profile can add a line or a cell.
 */
export const leadTable = (profiles: readonly JsonObject[]): string => {
  const rows = profiles.map((profile) => columns.map(({ read }) => read(profile)));
  const isUsed = columns.map((_column, place) => rows.some((row) => row[place] !== ''));
  const toLine = (cells: readonly string[]): string =>
    cells
      .filter((_cell, place) => isUsed[place])
      .map((cell) => (cell === '' ? '-' : cell))
      .join(' | ');
  return [columns.map(({ title }) => title), ...rows].map(toLine).join('\n');
};

const textOf = (value: unknown, longest: number): string =>
  typeof value === 'string' ? oneLine(value, longest) : '';

const column = (title: string, field: string, longest: number): Column => ({
  title,
  read: (profile) => textOf(profile[field], longest),
});

/** What is to be used as it stands: whole, and with a mark where the table cannot show it so. */
const exactColumn = (title: string, field: string): Column => ({
  title,
  read: (profile) => {
    const shown = textOf(profile[field], longestExact);
    return shown === (profile[field] ?? '') ? shown : `${shown} (altered)`;
  },
});

/** Above the longest user name and e-mail address. */
const longestExact = 320;

const columns: readonly Column[] = [
  exactColumn('username', 'username'),
  column('name', 'full_name', 40),
  { title: 'followers', read: ({ followers }) => (typeof followers === 'number' ? String(followers) : '') },
  column('category', 'category', 40),
  {
    title: 'place',
    read: ({ city, country }) =>
      [textOf(city, 40), textOf(country, 10)].filter((part) => part !== '').join(', '),
  },
  column('gender', 'gender', 10),
  {
    title: 'marks',
    read: (profile) =>
      [profile['is_verified'] === true ? 'verified' : '', profile['is_business'] === true ? 'business' : '']
        .filter((mark) => mark !== '')
        .join(', '),
  },
  exactColumn('email', 'public_email'),
  column('bio', 'bio', 80),
];
