import { read, write } from '../command.ts';
import { firstOf, onlyOf } from '../statement.ts';

/**
 * Returns a permanent secret of the whole deployment, the same for every process. Makes `value` the secret of that name
 * if there is none. The update changes nothing; it makes the statement return an existing row.
 */
export const getOrCreateSecret = write({
  text: `insert into secrets (name, value) values ($1, $2)
    on conflict (name) do update set value = secrets.value returning value`,
  values: ({ name, value }: { name: string; value: string }) => [name, value],
  read: onlyOf(({ value }: { value: string }) => value),
});

/** Null if there is no secret of that name. */
export const findSecret = read({
  text: `select value from secrets where name = $1`,
  values: (name: string) => [name],
  read: firstOf(({ value }: { value: string }) => value),
});
