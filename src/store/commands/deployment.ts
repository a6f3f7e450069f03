import { read, run, writeSteps } from '../command.ts';
import { eachOf, firstOf, onlyOf, statement, valuesOf } from '../statement.ts';

/** Returns the names of the migrations that the store has, in their order. */
export const listMigrations = read({
  text: `select name from kysely_migration order by name`,
  read: eachOf(({ name }: { name: string }) => name),
});

export const findSecret = read({
  text: `select value from secrets where name = $1`,
  values: (name: string) => [name],
  read: firstOf(({ value }: { value: string }) => value),
});

/** The update changes nothing; it makes the statement return the row of a process that was faster. */
const createSecret = statement({
  text: `insert into secrets (name, value) values ($1, $2)
    on conflict (name) do update set value = secrets.value returning value`,
  values: valuesOf<{ name: string; value: string }>('name', 'value'),
  read: onlyOf(({ value }: { value: string }) => value),
});

/**
 * Returns a permanent secret of the whole deployment, the same for every process. Makes `value` the secret of that name
 * if there is none. A secret that exists is read without a write, so also while the disk is full.
 */
export const getOrCreateSecret = writeSteps(function* (secret: { name: string; value: string }) {
  return (yield* run(findSecret, secret.name)) ?? (yield* run(createSecret, secret));
});
