import type { Store } from '../store/store.ts';
import { foreignSchemaLine } from '../store/migrations/migrations.ts';

const lookEveryMs = 2_000;

/** Calls back once, with a line for the log, when a newer version has migrated the store under this gateway. */
export const watchSchema = (
  store: Pick<Store, 'listMigrations'>,
  callback: (problem: string) => void,
): void => {
  const look = async (): Promise<void> => {
    // During an outage the next look answers.
    const problem = foreignSchemaLine(await store.listMigrations(undefined).catch(() => []));
    if (problem === null) return;
    clearInterval(timer);
    callback(problem);
  };
  const timer = setInterval(() => void look(), lookEveryMs);
  timer.unref();
};
