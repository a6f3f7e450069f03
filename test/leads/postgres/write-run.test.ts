import { describe, expect, it } from 'vitest';
import { compareLeads } from '../../../src/leads/query/lead-order.ts';
import { connectToLeads } from '../../../src/leads/postgres/leads-database.ts';
import { writeRun } from '../../../src/leads/postgres/write-run.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { createLeadDatabase, noAbort } from './lead-database.ts';
import { hasService, postgresUrl } from '../../outside-services.ts';

describe.runIf(hasService('PostgreSQL'))('the writing of a run of parts', () => {
  it.each([
    ['have many words', { partLimits: { profiles: 65_536, terms: 500, pairs: 1_000_000 } }],
    ['take much room', { partJsonUnits: 20_000 }],
  ])('ends a part early where texts %s', async (_, limits) => {
    const database = createLeadDatabase();
    await database.openKeeper();
    const client = await connectToLeads(
      { url: postgresUrl, schema: database.schema },
      { statementTimeoutMs: 10_000 },
    );
    try {
      const stored = [...generateLeads({ seed: 2, profiles: 300 })]
        .toSorted(compareLeads)
        .map((lead, index) => ({
          lead,
          json: JSON.stringify(lead),
          person: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
        }));
      const written = await writeRun(client, {
        leads: (async function* () {
          yield stored;
        })(),
        generation: 1,
        areNewTables: false,
        signal: noAbort(),
        onProgress: () => undefined,
        ...limits,
      });
      const { rows } = await client.query('select profiles from parts order by id');
      const sizes = rows.map(({ profiles }) => Number(profiles));
      expect(written).toBe(300);
      expect(sizes.length).toBeGreaterThan(1);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(300);
    } finally {
      await client.end();
      await database.remove();
    }
  });
});
