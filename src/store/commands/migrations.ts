import { read } from '../command.ts';
import { eachOf } from '../statement.ts';

/** Returns the names of the migrations that the store has, in their order. */
export const listMigrations = read({
  text: `select name from kysely_migration order by name`,
  values: () => [],
  read: eachOf(({ name }: { name: string }) => name),
});
