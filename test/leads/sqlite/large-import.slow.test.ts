import { expect, it } from 'vitest';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { leadInputOf } from '../lead-input-of.ts';
import { createSqliteProfiles } from './create-sqlite-profiles.ts';

it('an import keeps its counts where a person comes again 100,000 rows later', async () => {
  const profiles = await createSqliteProfiles();
  const keeper = await profiles.openKeeper();
  const { signal } = new AbortController();
  const many = [...generateLeads({ seed: 5, profiles: 100_001 })];
  const rows = [...many, { ...many[0]!, followers: 3 }, { ...many[100_000]!, bio: 'last' }];
  const input = leadInputOf(rows, { batchRows: 5_000 });
  expect(await keeper.importLeads({ input, mode: 'upsert', signal })).toMatchObject({
    rows: 100_003,
    added: 100_001,
    repeated: 2,
    profiles: 100_001,
  });
  expect(
    await keeper.importLeads({ input: leadInputOf(rows.slice(-1)), mode: 'upsert', signal }),
  ).toMatchObject({ added: 0, updated: 1, repeated: 0, profiles: 100_001 });
  await keeper.close();
  await profiles.remove();
});
