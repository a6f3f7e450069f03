import type { LeadsClient } from './leads-database.ts';

/** Rolls back when `work` fails. */
export const inTransaction = async <T>(client: LeadsClient, work: () => Promise<T>): Promise<T> => {
  await client.query('begin');
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    // Where the connection is lost the server does it by itself.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
};
