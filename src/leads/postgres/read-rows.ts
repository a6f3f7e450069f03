import type { LeadsClient } from './leads-database.ts';
import type { StoredLead } from './stored-lead.ts';

let cursors = 0;

/**
 * The rows of `select` in batches, over a cursor in the transaction of `client`. The next batch is asked for while the
 * last one is worked on.
 */
export async function* readRows<Row>(
  client: LeadsClient,
  { select, batchRows }: { select: string; batchRows: number },
): AsyncGenerator<Row[]> {
  cursors += 1;
  const cursor = `leads_${cursors}`;
  await client.query(`declare ${cursor} no scroll cursor for ${select}`);
  const fetch = (): Promise<{ rows: Row[] }> => {
    const fetched = client.query(`fetch ${batchRows} from ${cursor}`);
    // It is heard of when the batch is asked for.
    fetched.catch(() => undefined);
    return fetched;
  };
  let next = fetch();
  for (;;) {
    const { rows } = await next;
    if (rows.length === 0) break;
    next = fetch();
    yield rows;
  }
  await client.query(`close ${cursor}`);
}

export interface ReadStoredLeadsInput {
  /** Gives `person` as text and `lead`; with `isWanted` also `place`. */
  select: string;
  isWanted?: (place: number) => boolean;
}

/** Profiles as they stand in a table. */
export async function* readStoredLeads(
  client: LeadsClient,
  { select, isWanted = () => true }: ReadStoredLeadsInput,
): AsyncGenerator<StoredLead[]> {
  const batches = readRows<{ person: string; lead: string; place: number }>(client, {
    select,
    batchRows: 2_000,
  });
  for await (const rows of batches)
    yield rows
      .filter(({ place }) => isWanted(place))
      .map(({ person, lead }) => ({ person, json: lead, lead: JSON.parse(lead) }));
}
