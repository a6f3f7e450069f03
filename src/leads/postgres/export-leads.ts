import type { Lead } from '../lead-source.ts';
import { closeClient, inDatabase, openKeeperClient } from './keeper-session.ts';
import type { LeadsDatabase } from './leads-database.ts';
import { loadSnapshot } from './load-snapshot.ts';
import { mergeLeads } from './merge-leads.ts';
import { readRun, runsOf } from './runs.ts';

/** Every profile in the order of results, as they stood at the beginning. Rejects with LeadKeeperError. */
export async function* exportLeads(database: LeadsDatabase, signal: AbortSignal): AsyncGenerator<Lead> {
  signal.throwIfAborted();
  const client = await openKeeperClient(database);
  try {
    const batches = await inDatabase(async () => {
      await client.query('begin isolation level repeatable read read only');
      const { generation, parts } = await loadSnapshot(client);
      const runs = runsOf(parts, new Map());
      return mergeLeads(runs.map((run) => readRun(client, { run, generation, without: new Map() })));
    });
    for (;;) {
      const { done, value } = await inDatabase(() => batches.next());
      if (done === true) return;
      signal.throwIfAborted();
      for (const { lead } of value) yield lead;
    }
  } finally {
    await closeClient(client);
  }
}
