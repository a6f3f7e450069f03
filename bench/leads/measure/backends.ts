import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { pause } from '../../../src/kit/repeat.ts';

/** Returns the processor time of a backend of PostgreSQL, which runs on this machine, in milliseconds. */
export const backendMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6;

const withClient = async <T>(url: string, work: (client: InstanceType<typeof Client>) => Promise<T>) => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

const selectBackends = async (client: InstanceType<typeof Client>): Promise<number[]> => {
  const { rows } = await client.query<{ pid: number }>(
    'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
  return rows.map(({ pid }) => pid);
};

export const listBackends = (url: string): Promise<number[]> => withClient(url, selectBackends);

const lookMs = 200;

/** Runs `work`, and sums the processor time of all backends of the database meanwhile, as of the last look at each. */
export const withBackendSeconds = <T>(
  url: string,
  work: () => Promise<T>,
): Promise<{ result: T; seconds: number }> =>
  withClient(url, async (client) => {
    const seen = new Map<number, number>();
    const ended = new AbortController();
    const watch = async (): Promise<void> => {
      while (!ended.signal.aborted) {
        for (const pid of await selectBackends(client)) {
          try {
            seen.set(pid, backendMs(pid));
          } catch {
            // It has ended meanwhile.
          }
        }
        await pause(lookMs, ended.signal);
      }
    };
    const watching = watch();
    try {
      const result = await work();
      const milliseconds = [...seen.values()].reduce((sum, one) => sum + one, 0);
      return { result, seconds: Math.round(milliseconds / 100) / 10 };
    } finally {
      ended.abort();
      await watching;
    }
  });
