import type { CommandInput } from '../commands.ts';
import { firstOf, onlyOf, type Statement } from './statement.ts';

/** The update changes nothing; it makes the statement return an existing row. */
export const getOrCreateSecret: Statement<CommandInput<'getOrCreateSecret'>, { value: string }, string> = {
  name: 'get_or_create_secret',
  text: () => `insert into secrets (name, value) values ($1, $2)
    on conflict (name) do update set value = secrets.value returning value`,
  values: ({ name, value }) => [name, value],
  read: onlyOf(({ value }) => value),
};

export const findSecret: Statement<string, { value: string }, string | null> = {
  name: 'find_secret',
  text: () => `select value from secrets where name = $1`,
  values: (name) => [name],
  read: firstOf(({ value }) => value),
};
