import type { LeadStats } from '../lead-keeper.ts';
import type { LeadsClient } from './leads-database.ts';
import { findUnfinished } from './staged-import.ts';

export const readStats = async (client: LeadsClient): Promise<LeadStats> => {
  const { rows } = await client.query(
    `select profiles, updated_at, (select count(*) from forgotten) as forgotten,
       (select sum(pg_total_relation_size(pg_class.oid)) from pg_class
        where relnamespace = current_schema()::regnamespace and relkind = 'r')::bigint as bytes
     from state`,
  );
  const [row] = rows;
  const unfinished = await findUnfinished(client);
  return {
    profiles: Number(row?.profiles),
    synthetic: false,
    forgotten: Number(row?.forgotten),
    bytes: Number(row?.bytes),
    updatedAt: row?.updated_at ?? null,
    unfinished:
      unfinished === null || unfinished.inputKey === null
        ? null
        : { rows: unfinished.rows, startedAt: unfinished.startedAt },
  };
};
